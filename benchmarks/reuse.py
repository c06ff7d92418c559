"""Looking results up in a large store: `python -m benchmarks.reuse`.

Builds a result store as runs and `sayu prune` leave it: most results in merged files, those of the last week in one
small file a chunk. Then, in a process of its own, looks a date's pairs up as the stage `reuse` does, and prints
seconds, imports included, and peak memory against the budget: 20 s and 4 GiB for 135,000 pairs among 10,000,000 stored
results on two cores. Building the store is not measured. `--work` keeps it, and finds it again the next time.

    python -m benchmarks.reuse
    python -m benchmarks.reuse --stored 1000000 --pairs 10000 --small-files 500
"""

import datetime as dt
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.measured import run_measured
from demo.catalogue import load_shop
from tasks.records import DECISIONS, TEXTS, conform
from tasks.results import Kind, write_results
from tasks.reuse import account_hits, add_stored
from tasks.runs import describe_run
from tasks.settings import HOME, Settings

BUDGET_STORED, BUDGET_PAIRS, BUDGET_SECONDS, BUDGET_GIB = 10_000_000, 135_000, 20.0, 4.0
DATE = dt.date(2026, 11, 28)
# As many as the service model writes: 5,499 of 10,000 pairs.
WRITE_SHARE = 0.55
# Files of some 10 to 20 MB; `sayu prune` merges up to 32 MB, so a real store has fewer.
MERGED_PAIRS = 500_000
# A chunk's, at most.
SMALL_PAIRS = 256
# The oldest are past their time: a store is pruned once a week.
DAYS = 37
# The other half of the date's pairs was never asked; of this half, what is past its time is asked anew.
FOUND_SHARE = 0.5


@click.command()
@click.option("--stored", default=BUDGET_STORED, show_default=True, help="Pairs with a stored result")
@click.option("--pairs", default=BUDGET_PAIRS, show_default=True, help="Pairs of the date that is looked up")
@click.option("--small-files", default=3_700, show_default=True, help="Chunks since the store was pruned: a week's")
@click.option("--work", type=click.Path(path_type=Path), help="Where to work, and leave it all [default: nowhere]")
def main(stored: int, pairs: int, small_files: int, work: Path | None) -> None:
    """Look a date's pairs up in a large store; show time and memory against the budget."""
    folder = work or Path(tempfile.mkdtemp(prefix="sayu-reuse-"))
    try:
        if not (folder / "keys.parquet").exists():
            click.echo("building the store …", err=True)
            build_store(folder, stored, pairs, small_files)
        files = [path.stat().st_size for path in (folder / "store" / "results").rglob("*.parquet")]
        click.echo(f"store           {len(files):,} files, {sum(files) / 2**20:,.0f} MiB")
        program = f"from benchmarks.reuse import look_up; look_up({str(folder)!r})"
        measured = run_measured([sys.executable, "-c", program], HOME, {})
        seen = json.loads(measured.output)
        click.echo(f"lookup          {seen['seconds']:.1f} s; found {seen['found']:,} of {pairs:,} pairs")
        click.echo(f"with imports    {measured.wall_seconds:.1f} s wall, {measured.cpu_seconds:.1f} s CPU")
        click.echo(f"peak memory     {measured.peak_gib:.2f} GiB")
        kept = measured.wall_seconds <= BUDGET_SECONDS and measured.peak_gib <= BUDGET_GIB
        budget = f"{BUDGET_SECONDS:.0f} s and {BUDGET_GIB:.0f} GiB for {BUDGET_PAIRS:,} pairs among {BUDGET_STORED:,}"
        click.echo(f"{pairs:,} pairs among {stored:,}; budget {budget}: {'kept' if kept else 'EXCEEDED'}")
    finally:
        if work is None:
            shutil.rmtree(folder, ignore_errors=True)


def look_up(folder: str) -> None:
    """All that is measured, in this process; prints what came of it as JSON."""
    keyed = pl.read_parquet(Path(folder) / "keys.parquet")
    run = describe_run(DATE, Settings(store=Path(folder) / "store"))
    start = time.perf_counter()
    found = account_hits(add_stored(keyed, run), run).found
    print(json.dumps({"seconds": time.perf_counter() - start, "found": found}))


def build_store(folder: Path, stored: int, pairs: int, small_files: int) -> None:
    """Write the store, and `keys.parquet`: the keys to look up, of which FOUND_SHARE are stored."""
    rng = np.random.default_rng(20261128)
    small = min(small_files * SMALL_PAIRS, stored // 2)
    sizes = [MERGED_PAIRS] * ((stored - small) // MERGED_PAIRS)
    sizes += [stored - small - sum(sizes)] + [SMALL_PAIRS] * (small // SMALL_PAIRS)
    oldest, chosen = dt.datetime.now(dt.UTC) - dt.timedelta(days=DAYS), []
    wanted = round(pairs * FOUND_SHARE)
    for number, size in enumerate(size for size in sizes if size):
        passed = sum(sizes[:number]) / stored  # of the time that all of it took
        decisions, texts = make_results(size, oldest + dt.timedelta(days=DAYS * passed), rng)
        results: tuple[tuple[Kind, pl.DataFrame], ...] = (("decisions", decisions), ("texts", texts))
        for kind, rows in results:
            write_results(folder / "store", kind, f"{number:05d}", rows)
        chosen.append(decisions["key"].sample(min(size, -(-size * wanted // stored)), seed=number))
    known = pl.concat(chosen).shuffle(seed=0).head(wanted)
    keys = pl.concat([known, make_keys(pairs - known.len(), rng)]).shuffle(seed=1)
    numbers = pl.int_range(pairs, eager=True, dtype=pl.UInt32)
    keyed = pl.DataFrame({"candidate_id": numbers, "key": keys}).with_columns(payload=pl.lit("{}"))
    keyed.write_parquet(folder / "keys.parquet")


def make_results(size: int, finished_at: dt.datetime, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Decisions of so many pairs, and the texts of those to be written."""
    p_skip = rng.random(size)
    tokens = {name: rng.integers(0, 160, size) for name in ("prompt_tokens", "cached_tokens", "generated_tokens")}
    rows = pl.DataFrame({"p_skip": p_skip, "label_mass": rng.random(size), **tokens}).with_columns(
        key=make_keys(size, rng), finished_at=pl.lit(finished_at), answer=make_answers(size, rng),
        finish_reason=pl.lit("stop"), attempt=1, passed=pl.lit(None),
    )  # fmt: skip
    return rows.pipe(conform, DECISIONS), rows.filter(pl.col("p_skip") < WRITE_SHARE).pipe(conform, TEXTS)


def make_keys(size: int, rng: np.random.Generator) -> pl.Series:
    """Random keys: 32 hex digits."""
    digests = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), size, [None, pa.py_buffer(rng.bytes(16 * size))])
    return pl.Series("key", digests.cast(pa.binary())).bin.encode("hex")


def make_answers(size: int, rng: np.random.Generator) -> pl.Series:
    """Answers as a model writes them, of two names and a dish."""
    shop = load_shop()
    items, dishes = [item.name for item in shop.items.values()], [dish.name for dish in shop.dishes]
    one, other, dish = (pl.Series(names).gather(rng.integers(0, len(names), size)) for names in (items, items, dishes))
    parts = pl.DataFrame({"one": one, "other": other, "dish": dish})
    text = pl.format("{}에 {} 더해 {} 만들어 보세요.", "one", "other", "dish")
    return parts.select(pl.lit('{"decision": "write", "text": "') + text + pl.lit('"}')).to_series()


if __name__ == "__main__":
    main()
