"""The plan as a page on the console."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from planner.made import Layouts, Plan
from planner.orders import Found, Prediction
from planner.pareto import Point, frontier

# So wide are the tables; a terminal that is narrower folds their lines.
NARROWEST = 130
COLUMNS = (
    "order", "prompt tokens", "found: decide", "generate", "evicted", "block rest", "computed", "× floor", "chunks",
    "seconds",
)  # fmt: skip


def print_plan(plan: Plan) -> None:
    """The page on the console."""
    console = Console()
    console.width = max(console.width, NARROWEST)

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, highlight=False)

    say(f"\n[bold]{plan.what}[/bold]  {plan.model}")
    say(f"time            {plan.time_model}; {plan.error}")
    for line in facts(plan):
        say(line)
    console.print(order_table(plan.predictions))
    for line in (*conclusions(plan), *(f"[yellow]![/yellow] {note}" for note in plan.notes)):
        say(line)
    if plan.layouts:
        console.print(layout_table(plan.layouts))
        say(plan.layouts.advice)
        say("prefill : decode GPUs if split  " + "  ".join(_ratio(row) for row in plan.layouts.ratios))
    for line in what_ifs(plan):
        say(line)


def facts(plan: Plan) -> list[str]:
    """What was assumed, a line each."""
    answers = plan.answers
    return [
        f"KV room         {plan.room:,} tokens in blocks of {plan.block_size}, {plan.groups} KV group(s)",
        f"answers         {answers.write_share:.0%} written, {plan.text_tokens:.0f} tokens a text ({answers.source})",
    ]


def order_table(predictions: Sequence[tuple[str, Prediction]]) -> Table:
    """The orders side by side."""
    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(COLUMNS):
        table.add_column(column, no_wrap=True, justify="right" if place else "left")
    for cells in order_rows(predictions):
        table.add_row(*cells)
    return table


def order_rows(predictions: Sequence[tuple[str, Prediction]]) -> list[list[str]]:
    """The cells of that table."""
    rows = []
    for name, prediction in predictions:
        both = [sum(pair) for pair in zip(prediction.decide, prediction.generate, strict=True)]
        total = Found(*both)
        rows.append(
            [
                name,
                f"{total.prompt:,}",
                f"{prediction.decide.share:.0%}",
                f"{prediction.generate.share:.0%}" if prediction.generate.prompt else "–",
                f"{total.evicted:,}",
                f"{total.remainder:,}",
                f"{prediction.computed:,}",
                f"{prediction.times_floor:.2f}",
                f"{prediction.chunks:,} × {prediction.chunk_pairs}",
                f"{prediction.seconds:,.1f}",
            ]
        )
    return rows


def conclusions(plan: Plan) -> list[str]:
    """What to do, and what it costs."""
    best = ", ".join(f"{name} {value}" for name, value in plan.settings.items())
    gain = f"changed: {', '.join(plan.changed)}; {plan.faster:.2f} × faster" if plan.changed else "all as they are"
    cost = plan.cost
    hours = f"{cost.seconds:,.0f} s = {cost.seconds / 3600:.3f} engine hours"
    lines = [
        f"recommended     order {plan.order}, chunks of about {plan.best.chunk_pairs} pairs, {best} ({gain})",
        f"engine          {hours}; about {cost.around:,.0f} s around it",
    ]
    if cost.money is not None:
        share = cost.per_thousand
        each = "none published" if share is None else f"{share:.4f} per 1,000 published reasons"
        lines.append(f"cost            {cost.money:.4f}, {each} (about {cost.published:,} published)")
    if plan.workers:
        workers = plan.workers
        lines.append(f"by {workers.by}        {workers.number} worker(s); {workers.seconds / 60:,.0f} minutes are left")
    return lines


def layout_table(layouts: Layouts) -> Table:
    """The frontier, at most a dozen of its points."""
    columns = (f"layout ({layouts.gpu})", "answers at a time", "requests/s and GPU", "tokens/s of one request", "")
    table = Table(*columns, box=None, pad_edge=False)
    for point in some_points(frontier(layouts.points), 12, layouts.chosen):
        mark = "[bold]← chosen" if point == layouts.chosen else ""
        table.add_row(point.layout, f"{point.batch}", f"{point.per_gpu:.2f}", f"{point.speed:.1f}", mark)
    return table


def some_points(points: Sequence[Point], most: int, always: Point | None) -> list[Point]:
    """About so many of the points, evenly, and one that must not be missing."""
    every = max(1, -(-len(points) // most))
    return [point for place, point in enumerate(points) if place % every == 0 or point == always]


def _ratio(row: tuple[float, float, float]) -> str:
    prompt, answer, ratio = row
    return f"(prompt × {prompt:g}, text × {answer:g}) {ratio:.2f}"


def what_ifs(plan: Plan) -> list[str]:
    """A line each."""
    lines = []
    if plan.offload:
        off = plan.offload
        lines.append(
            f"host memory     {off.lost:,} tokens lost in order full: computed again {off.recompute_seconds:.1f} s, "
            f"carried out and back {off.carry_seconds:.1f} s; pays from {off.least_gb:.1f} GB/s; "
            f"the order {plan.order} loses {plan.best.decide.evicted + plan.best.generate.evicted:,}"
        )
    for retry in plan.retries:
        larger = f"; the larger model {retry.large_cost * 1e3:.2f} ms" if retry.large_cost else ""
        calls = f"{retry.calls:.2f} calls a pair, {retry.cost * 1e3:.2f} ms of a GPU each that passes{larger}"
        lines.append(f"up to {retry.times} tries   {retry.pass_share:.1%} pass, {calls}")
    for fixed in plan.fixed:
        lines.append(
            f"fixed text {fixed.tokens:+4d}  {fixed.shared} tokens in common, {fixed.left_over} behind the last whole "
            f"block: {fixed.computed:.1f} tokens computed a pair, {fixed.seconds:,.1f} s"
        )
    shares = "  ".join(f"{share:.0%}: {gain:.2f} ×" for share, gain, _ in plan.write_shares)
    lines.append(f"share written   {plan.order} against all decisions first  {shares}")
    return lines
