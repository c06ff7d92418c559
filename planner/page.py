"""The plan as an HTML page with charts: no script, nothing from the net."""

from pathlib import Path

import jinja2

from planner.charts import CAUSES, COLOURS, causes_chart, frontier_chart
from planner.made import Plan
from planner.pareto import frontier
from planner.report import COLUMNS, conclusions, facts, order_rows, some_points, what_ifs
from tasks.files import replacing

KINDS = {"one": "one engine a GPU", "together": "GPUs together (tensor parallel)", "split": "prefill and decode split"}


def write_html(plan: Plan, path: Path) -> None:
    """The page with charts; it needs nothing from the net."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("planner", "templates"), jinja2.PackageLoader("tasks.reports", "templates")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    layouts = plan.layouts
    page = environment.get_template("plan.html.j2").render(
        language="en",
        plan=plan,
        facts=facts(plan),
        columns=COLUMNS,
        rows=order_rows(plan.predictions),
        conclusions=conclusions(plan),
        what_ifs=what_ifs(plan),
        causes=causes_chart(plan.predictions),
        cause_colours=CAUSES,
        chart=frontier_chart(layouts.points, layouts.chosen) if layouts else "",
        points=some_points(frontier(layouts.points), 12, layouts.chosen) if layouts else [],
        kinds={KINDS[kind]: colour for kind, colour in COLOURS.items()},
    )
    with replacing(path) as beside:
        beside.write_text(page, encoding="utf-8")
