"""What `sayu bench` shows: a table on the console; the same as JSON, Markdown and a chart in a folder."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.bench import Bench, Row

COLUMNS = ("way of asking", "seconds", "predicted", "pairs/s", "times the first", "tokens/s written", "p50 s", "p95 s",
           "peak GiB", "computed / floor", "preemptions", "answers")  # fmt: skip


def cells(bench: Bench, row: Row) -> tuple[str, ...]:
    """One row of the table, as text."""
    first = bench.rows[0]
    low, high = min(row.seconds), max(row.seconds)
    return (
        row.name,
        f"{row.median_seconds:.1f} ({low:.1f}–{high:.1f})",
        _predicted(bench, row.name),
        f"{row.pairs_per_second:.1f}",
        f"{first.median_seconds / row.median_seconds:.2f}",
        f"{row.generated_per_second:.0f}",
        f"{row.p50:.1f}",
        f"{row.p95:.1f}",
        f"{row.peak_gib:.1f}",
        f"{row.times_floor:.2f}",
        f"{row.preemptions}",
        "the reference" if row is first else str(row.sameness),
    )


def headline(bench: Bench) -> list[str]:
    """What was measured, on what."""
    room = f"KV room {bench.room.tokens:,} tokens in blocks of {bench.room.block_size}" if bench.room else "no KV cache"
    reasons = f" with about {bench.reasons_per_item} reason items a recommended item" if bench.reasons_per_item else ""
    return [
        f"{bench.pairs} pairs{reasons}, {bench.written} of them written, at most {bench.max_tokens} tokens a text; "
        f"{bench.prompt_tokens:,} prompt tokens, {bench.floor_tokens:,} of them distinct (the floor); {room}",
        f"model {bench.model}, {bench.dtype}; {bench.machine}; "
        + ", ".join(f"{name} {version}" for name, version in bench.versions.items())
        + f"; {bench.measured_at}; {len(bench.rows[0].seconds)} interleaved repeats, medians",
    ]


def verdict(bench: Bench) -> str:
    """Which way won among those that gave the same answers."""
    same = [row for row in bench.rows if row.sameness.same and not row.errors]
    best = max(same, key=lambda row: row.pairs_per_second)
    unable = "".join(
        f"; {name} not run: {why} (predicted: {_predicted(bench, name)} s)" for name, why in bench.not_run.items()
    )
    wrong = [row.name for row in bench.rows if row not in same]
    said = f"{best.name} wins with the same answers as {bench.rows[0].name}: {best.pairs_per_second:.1f} pairs/s"
    differing = f"; NOT comparable, since the answers differ: {', '.join(wrong)}" if wrong else ""
    return said + differing + unable


def _predicted(bench: Bench, name: str) -> str:
    """What `sayu plan` foresaw of a way, in seconds; a dash where the engine is not calibrated."""
    return f"{bench.predicted[name]:.1f}" if name in bench.predicted else "–"


def print_bench(bench: Bench) -> None:
    """The table on the console."""
    console = Console(width=220)
    table = Table(*COLUMNS, box=None, pad_edge=False)
    for row in bench.rows:
        table.add_row(*cells(bench, row))
    console.print(*headline(bench), sep="\n", highlight=False)
    console.print(table)
    console.print(verdict(bench), highlight=False)


def write_bench(bench: Bench, folder: Path, name: str) -> None:
    """Leave NAME.json, NAME.md and NAME.svg in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(bench.model_dump_json(indent=1) + "\n", encoding="utf-8")
    lines = [*headline(bench), "", f"| {' | '.join(COLUMNS)} |", "|---|" + "---:|" * (len(COLUMNS) - 2) + "---|"]
    lines += [f"| {' | '.join(cells(bench, row))} |" for row in bench.rows]
    lines += ["", f"{verdict(bench)}.", "", f"![pairs per second]({name}.svg)"]
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _chart(bench, folder / f"{name}.svg")


def _chart(bench: Bench, path: Path) -> None:
    """Pairs per second, a bar a way, with the spread of the repeats."""
    import altair as alt
    import polars as pl

    rows = [
        (row.name, row.pairs_per_second, bench.pairs / max(row.seconds), bench.pairs / min(row.seconds))
        for row in bench.rows
    ]
    frame = pl.DataFrame(rows, schema=["way", "rate", "low", "high"], orient="row")
    base = alt.Chart(frame).encode(y=alt.Y("way:N", sort=None, title=None))
    bars = base.mark_bar(color="#4c78a8").encode(x=alt.X("rate:Q", title="pairs per second"))
    spread = base.mark_rule(color="#222").encode(x="low:Q", x2="high:Q")
    numbers = base.mark_text(align="left", dx=6).encode(x="high:Q", text=alt.Text("rate:Q", format=".1f"))
    (bars + spread + numbers).properties(width=480, title=f"{bench.model}, {bench.dtype}").save(str(path))
