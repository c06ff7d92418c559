"""How a date ended, as a Prefect event that an automation can act on (see automations.yaml).

`tell` is a hook of the flows that change what readers see. The event is about the date, the resource
`sayu.date.2026-11-28`; its name says what became of it: `sayu.date.published`, `.held-back`, `.withdrawn` or `.failed`.
Its payload has the state's message; the flow run and its deployment are related to it.
"""

from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.events import emit_event

from flows.support.parameters import day_before

# What a run that came through did to its date.
DONE = {"daily": "published", "approve": "published", "rollback": "withdrawn"}


def tell(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Emit the event of how a run ended."""
    ds = flow_run.parameters.get("ds") or day_before(flow_run.expected_start_time or state.timestamp)
    undone = "held-back" if state.name == "HeldBack" else "failed"
    emit_event(
        f"sayu.date.{DONE[flow.name] if state.is_completed() else undone}",
        resource={"prefect.resource.id": f"sayu.date.{ds}", "prefect.resource.name": str(ds)},
        related=_related(flow, flow_run),
        payload={"message": state.message or "", "flow": flow.name},
    )


def _related(flow: Flow[..., Any], flow_run: FlowRun) -> list[dict[str, str]]:
    """The flow run, and its deployment, which is called as its flow is."""
    resources = [("flow-run", flow_run.id, flow_run.name)]
    if flow_run.deployment_id:
        resources.append(("deployment", flow_run.deployment_id, flow.name))
    return [
        {"prefect.resource.id": f"prefect.{role}.{key}", "prefect.resource.role": role, "prefect.resource.name": name}
        for role, key, name in resources
    ]
