"""The waterfall as people read it: the table's two parts, the chart's bars, and the few words of the short form.

`passed` is what the reasons that passed are called, a name in words.WORDS: they need not be published.
"""

import math
from typing import NamedTuple

from tasks.costs import Cost
from tasks.reports.charts import Step as Bar
from tasks.reports.words import Language, words
from tasks.waterfall import SPARED, Step, Waterfall

# Said on the way: how many pairs are left there. None leaves, and nothing is done for it.
MARKS = ("candidates", "asked", "written")
COLOURS = {
    "skipped": "var(--bar)",
    "failed": "var(--bad)",
    "asked_again": "var(--warn)",
    "rejected": "var(--warn)",
    "published": "var(--good)",
}
FEW_SECONDS = 100  # below that a chart's numbers need digits behind the point


class Line(NamedTuple):
    """A line of the table: a step, what it is called, what it says, and what it `cost` or saved (None: not known)."""

    step: Step
    label: str
    says: str
    mark: bool
    cost: Cost | None


class Part(NamedTuple):
    """The lines of the pairs that were asked, or of those that were not; `pairs` and `cost` are their sums."""

    title: str
    lines: list[Line]
    total: str
    pairs: int
    cost: Cost | None


def parts(waterfall: Waterfall, passed: str, language: Language = "en") -> tuple[Part, Part]:
    """What was saved, and what was spent; steps that had nothing to do with any pair are left out."""
    w = words(language)
    names = [step.name for step in waterfall.steps]
    place = names.index("asked")
    saved = _lines(waterfall, waterfall.steps[:place], w | {"step_published": w[passed]}, saved=True)
    made = _lines(waterfall, waterfall.steps[place:], w | {"step_published": w[passed]}, saved=False)
    average = "unknown" if waterfall.average is None else "stored" if waterfall.average.stored else "asked"
    return (
        Part(w[f"saved_{average}"], saved, w["saved_all"], sum(line.step.pairs for line in saved), waterfall.saved),
        Part(w["made"], made, w["made_all"], sum(line.step.pairs for line in made), waterfall.made),
    )


def bars(waterfall: Waterfall, passed: str, language: Language) -> tuple[list[Bar], str, str] | None:
    """What asking every candidate would have taken, what of it was saved, and what the rest was spent on.

    In engine seconds where they are known, else in tokens that take time. Gives the bars, the chart's title and the
    format of its numbers; None where there is nothing to show.
    """
    w = words(language)
    saved, made = parts(waterfall, passed, language)
    lines = [
        line for line in (*saved.lines, *made.lines) if line.cost and (line.cost.weight or line.cost.engine_seconds)
    ]
    costs = [line.cost for line in lines if line.cost]
    seconds = [cost.engine_seconds for cost in costs if cost.engine_seconds is not None]
    timed = len(seconds) == len(costs) and sum(seconds) > 0
    numbers = seconds if timed else [float(cost.weight) for cost in costs]
    if not sum(numbers):
        return None
    shown = [
        (line.label, number, COLOURS.get(line.step.name, "var(--dim)"))
        for line, number in zip(lines, numbers, strict=True)
    ]
    if lines[-1] in saved.lines:  # the last bar is what is left of the whole: nothing
        shown.append((made.total, 0.0, COLOURS["published"]))
    few = timed and sum(numbers) < FEW_SECONDS
    title = w["costs_seconds" if timed else "costs_tokens"]
    return [(w["all_asked"], sum(numbers), "var(--ink)"), *shown], title, ",.1f" if few else ",.0f"


def short(waterfall: Waterfall, language: Language) -> list[str]:
    """What was spared and what a text cost, in a sentence each."""
    w = words(language)
    spared = [(w[f"step_{name}"], waterfall.step(name).pairs) for name in SPARED]
    by = ", ".join(f"{label} {pairs:,}" for label, pairs in spared if pairs) or "–"
    pairs = sum(pairs for _, pairs in spared)
    said = [w["short_calls"].format(calls=f"{waterfall.made.calls:,}", spared=f"{pairs:,}", by=by)]
    return [*said, per_text(waterfall, language)] if waterfall.published else said


def per_text(waterfall: Waterfall, language: Language) -> str:
    """What a text that passed cost, in a sentence; nothing where none did."""
    costs = waterfall.per_published
    if costs is None:
        return ""
    counted = {name: f"{costs[name] or 0:,.1f}" for name in ("calls", "computed", "generated")}
    money = "" if costs["money"] is None else f", {say_money(costs['money'])} {waterfall.currency}"
    return words(language)["per_text"].format(seconds=say_seconds(costs["engine_seconds"]), money=money, **counted)


def say_seconds(seconds: float | None) -> str:
    """Seconds with as many digits as tell something; a dash where they are not known."""
    return _say(seconds, 1)


def say_money(money: float | None) -> str:
    """An amount with as many digits as tell something; a dash where it is not known."""
    return _say(money, 2)


def _say(number: float | None, digits: int) -> str:
    """At least so many digits behind the point, and two that are not leading zeros."""
    if number is None:
        return "–"
    wanted = 1 - math.floor(math.log10(number)) if number > 0 else 0
    return f"{number:,.{max(digits, wanted)}f}"


def _lines(waterfall: Waterfall, steps: tuple[Step, ...], w: dict[str, str], saved: bool) -> list[Line]:
    shown = [step for step in steps if step.name in MARKS or step.pairs or step.touched]
    return [
        Line(
            step,
            w[f"step_{step.name}"],
            _says(step, waterfall, w),
            step.name in MARKS,
            step.saved if saved else step.made,
        )
        for step in shown
    ]


def _says(step: Step, waterfall: Waterfall, w: dict[str, str]) -> str:
    became = ", ".join(f"{w[f'outcome_{outcome}']} {pairs:,}" for outcome, pairs in step.outcomes.items())
    again = waterfall.asked_again
    figures = {"touched": f"{step.touched:,}", "mended": f"{again.mended:,}", "failing": f"{again.still_failing:,}"}
    return w.get(f"does_{step.name}", "").format(became=became, **figures)
