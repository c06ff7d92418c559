"""What a Prefect server needs to run sayu: the work pools, the deployments of prefect.yaml, the automations."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping

from tasks.errors import SayuError, UsageError
from tasks.settings import HOME

PREFECT = (sys.executable, "-m", "prefect", "--no-prompt")
POOLS = ("sayu-cpu", "sayu-gpu")


def configured_server() -> str | None:
    """The address of the server's API that the environment or the Prefect profile names, if any.

    Raises:
        SayuError: nobody answers there.
    """
    from prefect.settings import PREFECT_API_URL

    url: str | None = PREFECT_API_URL.value()
    if url and not answers(url):
        raise SayuError(f"nobody answers at {url} (PREFECT_API_URL)", "start that server, or unset the variable")
    return url


def answers(url: str) -> bool:
    """Whether a server is up."""
    import httpx

    try:
        return httpx.get(f"{url}/health", timeout=5).is_success
    except httpx.HTTPError:
        return False


def deploy_to_configured() -> str:
    """Deploy to the server that is configured; its address.

    Raises:
        UsageError: none is.
        SayuError: it does not answer, or does not take something.
    """
    url = configured_server()
    if not url:
        raise UsageError("no Prefect server is configured", "set PREFECT_API_URL, or bring one up with `sayu ui`")
    deploy(os.environ | {"PREFECT_API_URL": url}, {})
    return url


def deploy(environment: Mapping[str, str], forms: Mapping[str, Mapping[str, str]]) -> None:
    """Make the pools, deploy everything, and load the automations; may be done again.

    Args:
        environment: Of the commands, with PREFECT_API_URL.
        forms: Values that the forms of some deployments are filled in with.

    Raises:
        SayuError: the server does not take something.
    """
    from prefect.exceptions import PrefectHTTPStatusError
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: environment["PREFECT_API_URL"]}):
        try:
            asyncio.run(_make_pools())
        except PrefectHTTPStatusError as error:
            said = str(error).splitlines()[0]
            todo = "where it asks for a password, set PREFECT_API_AUTH_STRING to user:password"
            raise SayuError(f"the server refuses: {said}", todo) from error
        _prefect(environment, "deploy", "--all")
        asyncio.run(_fill_in(forms))
        # those that are there may have been changed by hand: they stay
        if not asyncio.run(_has_automations("sayu:")):
            _prefect(environment, "automation", "create", "--from-file", "automations.yaml")


async def _make_pools() -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectAlreadyExists
    from prefect.workers.process import ProcessWorker

    template = ProcessWorker.get_default_base_job_template()
    async with get_client() as client:
        for name in POOLS:
            pool = WorkPoolCreate(name=name, type=ProcessWorker.type, base_job_template=template)
            with contextlib.suppress(ObjectAlreadyExists):
                await client.create_work_pool(pool)


async def _fill_in(forms: Mapping[str, Mapping[str, str]]) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import DeploymentUpdate

    async with get_client() as client:
        for name, parameters in forms.items():
            deployment = await client.read_deployment_by_name(f"{name}/{name}")
            await client.update_deployment(deployment.id, DeploymentUpdate(parameters=dict(parameters)))


async def _has_automations(prefix: str) -> bool:
    from prefect.client.orchestration import get_client

    async with get_client() as client:
        return any(automation.name.startswith(prefix) for automation in await client.read_automations())


def _prefect(environment: Mapping[str, str], *arguments: str) -> None:
    # prefect.yaml takes the folder that the deployments run in from PWD
    environment = {**environment, "PWD": str(HOME)}
    done = subprocess.run(
        (*PREFECT, *arguments), cwd=HOME, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SayuError(f"`prefect {' '.join(arguments)}` failed", (done.stdout + done.stderr).strip()[-2000:])
