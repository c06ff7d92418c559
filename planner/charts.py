"""The plan's charts, in the way of tasks.reports.charts: small tables in, inline SVG out."""

from collections.abc import Sequence

import polars as pl

from planner.orders import Prediction
from planner.pareto import Point, frontier
from tasks.reports.charts import HEIGHT, WIDTH, inline_svg

COLOURS = {"one": "var(--bar)", "together": "var(--warn)", "split": "var(--good)"}
CAUSES = {
    "first time": "var(--bar)",
    "remainder of a block": "var(--warn)",
    "evicted": "var(--bad)",
    "found in the cache": "var(--line)",
}


def frontier_chart(points: Sequence[Point], chosen: Point | None) -> str:
    """Throughput per GPU over the speed of one request: the frontier of each kind of layout, and the chosen point."""
    import altair as alt

    rows = [
        (kind, point.speed, point.per_gpu, COLOURS[kind])
        for kind in COLOURS
        for point in frontier([point for point in points if point.kind == kind])
    ]
    frame = pl.DataFrame(rows, schema=["kind", "speed", "per_gpu", "colour"], orient="row")
    axis, scale = alt.Axis(tickCount=5), alt.Scale(type="log", nice=False)
    x = alt.X("speed:Q", title="tokens a second of one request", scale=scale, axis=axis)
    y = alt.Y("per_gpu:Q", title="requests a second and GPU")
    colour = alt.Color("colour:N", scale=None)
    base = alt.Chart(frame).encode(x=x, y=y, color=colour)
    chart = base.mark_line(strokeWidth=2).encode(detail="kind:N", order="speed:Q")
    if chosen:
        one = pl.DataFrame({"speed": [chosen.speed], "per_gpu": [chosen.per_gpu], "layout": [chosen.layout]})
        mark = alt.Chart(one).encode(x="speed:Q", y="per_gpu:Q")
        chart += mark.mark_point(size=130, strokeWidth=2.5, color="currentColor")
        chart += mark.mark_text(align="left", dx=10, dy=-8, color="currentColor").encode(text="layout:N")
    return inline_svg(chart.properties(width=WIDTH, height=HEIGHT + 60), "Throughput per GPU against speed per request")


def causes_chart(predictions: Sequence[tuple[str, Prediction]]) -> str:
    """Each order's prompt tokens: computed for the first time, or again and why, or found."""
    import altair as alt

    rows = []
    for name, prediction in predictions:
        for cause, field in zip(CAUSES, ("first_time", "remainder", "evicted", "cached"), strict=True):
            tokens = sum(getattr(stage, field) for stage in (prediction.decide, prediction.generate))
            rows.append((name, cause, tokens, CAUSES[cause], list(CAUSES).index(cause)))
    frame = pl.DataFrame(rows, schema=["order", "cause", "tokens", "colour", "place"], orient="row")
    chart = (
        alt.Chart(frame)
        .mark_bar(height={"band": 0.72})
        .encode(
            y=alt.Y("order:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=6)),
            x=alt.X("sum(tokens):Q", title="prompt tokens", axis=alt.Axis(format="~s", tickCount=4)),
            color=alt.Color("colour:N", scale=None),
            order="place:O",
        )
    )
    return inline_svg(chart.properties(width=WIDTH - 70, height=HEIGHT - 40), "Prompt tokens by order and cause")
