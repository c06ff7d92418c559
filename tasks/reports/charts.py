"""The report's charts: small tables in, inline SVG out. No script, no browser, no net.

Colours are CSS variables of the page (`--bar`, `--bad`, …), so that one SVG serves light and dark.
"""

import io
import re
from collections.abc import Sequence
from html import escape

import polars as pl

# Wide enough for the labels, and still readable when a telephone shows it at two thirds.
WIDTH, HEIGHT = 430, 190

BAR = 27  # the height of a bar with the space around it

Step = tuple[str, float, str]  # label, pairs (or whatever is counted), CSS variable of its colour


def waterfall(steps: Sequence[Step], title: str, number: str = ",d") -> str:
    """Bars that go down from all (the first step) to what is left (the last one, which they add up to).

    Args:
        steps: In the order of the way: the whole, then what each outcome takes away, then the rest.
        title: What a screen reader says of the picture.
        number: How numbers are written, as D3 formats them.
    """
    import altair as alt

    (whole, *taken, rest) = steps
    left = whole[1]
    bars = [(*whole, 0.0, left)]
    for step in taken:
        bars.append((*step, left - step[1], left))
        left -= step[1]
    bars.append((*rest, 0.0, rest[1]))
    frame = pl.DataFrame(bars, schema=["label", "pairs", "colour", "start", "end"], orient="row")
    labels = alt.Axis(ticks=False, domain=False, labelPadding=6)
    base = alt.Chart(frame).encode(y=alt.Y("label:N", sort=None, title=None, axis=labels))
    marks = base.mark_bar(height={"band": 0.72}).encode(
        x=alt.X("start:Q", title=None, axis=alt.Axis(format=number, tickCount=4)),
        x2="end:Q",
        color=alt.Color("colour:N", scale=None),
    )
    numbers = base.mark_text(align="left", dx=5, color="currentColor").encode(
        x="end:Q", text=alt.Text("pairs:Q", format=number)
    )
    return inline_svg((marks + numbers).properties(width=WIDTH - 70, height=BAR * len(bars)), title)


def skip_history(days: pl.DataFrame, title: str, axis: str, date: str) -> str:
    """The skip rate of some dates over the band where it was expected.

    Args:
        days: One row a date, oldest first: `ds` (text), `rate`, `low`, `high` (0 to 1 or null), `live` (Boolean).
        title: What a screen reader says of the picture.
        axis: What the rate is called.
        date: What the dates are called.
    """
    import altair as alt

    shown = days.with_columns(day=pl.col("ds").str.slice(5))
    labels = max(1, -(-shown.height // 8))
    every = [day for place, day in enumerate(shown["day"]) if place % labels == 0]
    x = alt.X("day:O", sort=None, title=date, axis=alt.Axis(labelAngle=0, values=every, grid=False))
    base = alt.Chart(shown).encode(x=x)
    percents, around = alt.Axis(format=".0%", tickCount=5), alt.Scale(domain=_around(days), nice=False)
    y, low = (alt.Y(f"{column}:Q", title=axis, axis=percents, scale=around) for column in ("rate", "low"))
    band = base.mark_area(color="var(--bar)", opacity=0.18).encode(y=low, y2="high:Q")
    line = base.mark_line(color="var(--bar)", strokeWidth=2).encode(y=y)
    points = base.mark_point(filled=False, size=45, strokeWidth=2, opacity=1).encode(
        y=y,
        stroke=alt.condition("datum.live", alt.value("var(--bar)"), alt.value("var(--bad)")),
        fill=alt.condition("datum.live", alt.value("var(--bar)"), alt.value("var(--page)")),
    )
    return inline_svg((band + line + points).properties(width=WIDTH, height=HEIGHT), title)


def _around(days: pl.DataFrame) -> list[float]:
    """The part of 0 to 1 that holds all rates, with enough room that a steady rate looks steady."""
    rates = [rate for column in ("rate", "low", "high") for rate in days[column].drop_nulls()]
    room = 0.05
    return [max(0.0, min(rates) - room), min(1.0, max(rates) + room)]


def histogram(bars: pl.DataFrame, domain: tuple[float, float], limit: float, title: str, axis: str, pairs: str) -> str:
    """Stacked bars over a number line, with a line at the limit.

    Args:
        bars: `start`, `end` (of each bar), `pairs`, `colour` (CSS variable), one row a bar and colour.
        domain: Where the number line begins and ends.
        limit: Where the line stands.
        title: What a screen reader says of the picture.
        axis: What the number line is called; `pairs`: what is counted.
    """
    import altair as alt

    base = alt.Chart(bars)
    marks = base.mark_bar(stroke=None).encode(
        x=alt.X("start:Q", title=axis, scale=alt.Scale(domain=list(domain), nice=False), axis=alt.Axis(grid=False)),
        x2="end:Q",
        y=alt.Y("sum(pairs):Q", title=pairs, axis=alt.Axis(format=",d", tickCount=4)),
        color=alt.Color("colour:N", scale=None),
    )
    line = alt.Chart(pl.DataFrame({"limit": [float(limit)]})).mark_rule(
        color="currentColor", strokeDash=[4, 3], strokeWidth=1.5
    )
    return inline_svg((marks + line.encode(x="limit:Q")).properties(width=WIDTH, height=HEIGHT), title)


def inline_svg(chart: object, title: str) -> str:
    """The chart as an SVG element that takes the page's colours and as much width as there is, up to its own."""
    chart = chart.configure(  # type: ignore[attr-defined]
        background="transparent",
        aria=False,  # the picture as a whole has a name; the numbers stand beside it as text
        font="inherit",
        view={"stroke": None},
        axis={
            "labelColor": "currentColor",
            "titleColor": "currentColor",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridColor": "var(--line)",
            "domainColor": "var(--line)",
            "tickColor": "var(--line)",
            "labelLimit": 200,
        },
        text={"fontSize": 12},
    )
    with io.StringIO() as file:
        chart.save(file, format="svg")  # type: ignore[attr-defined]
        svg = file.getvalue()
    # Inside HTML the namespaces are known, and the size is the page's to set.
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    width = re.search(r'width="([\d.]+)"', svg)
    head = f'<svg role="img" aria-label="{escape(title)}" style="max-width:{width[1] if width else WIDTH}px" viewBox'
    return re.sub(r"<svg [^>]*?viewBox", lambda _: head, svg, count=1)
