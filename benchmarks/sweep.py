"""`sayu bench --sweep`: which settings suit this machine and this model, found by trying.

One setting is changed at a time; then the best values are tried together, beside the defaults again. What wins is
written to a file that `--tuned` reads, with the machine and the model that it was measured on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Job, Row, run_bench
from benchmarks.variants import Variant, sweep
from tasks.settings import Settings

# A change must be faster by more than this, or it is noise and the default stays.
WORTH = 1.03


def run_sweep(settings: Settings, job: Job, repeats: int) -> tuple[Bench, dict[str, int]]:
    """Try the settings; all rows of the last round, and the settings that won (none: the defaults did)."""
    changes = sweep()
    alone = run_bench(settings, changes, job, repeats)
    best = choose(alone.rows)
    if not best:
        return alone, {}
    together = Variant(", ".join(f"{name} {value}" for name, value in best.items()), {"order": "fused", **best})
    last = run_bench(settings, (changes[0], together), job, repeats)
    both = alone.model_copy(update={"rows": [*alone.rows, *last.rows]})
    return both, best if is_worth(last.rows[1], last.rows[0]) else {}


def choose(rows: Sequence[Row]) -> dict[str, int]:
    """The best value of each setting that is worth changing; the first row has the defaults."""
    defaults, *changed = rows
    best: dict[str, tuple[float, int]] = {}
    for row in changed:
        ((name, value),) = [item for item in row.settings.items() if item[0] != "order"]
        if is_worth(row, defaults) and row.pairs_per_second > best.get(name, (0.0, 0))[0]:
            best[name] = row.pairs_per_second, int(value)
    return {name: value for name, (_, value) in best.items()}


def is_worth(row: Row, defaults: Row) -> bool:
    """Whether a row is clearly faster, without errors, and gave the same answers."""
    return row.sameness.same and not row.errors and row.pairs_per_second > WORTH * defaults.pairs_per_second


def write_tuned(bench: Bench, best: dict[str, Any], path: Path) -> None:
    """Leave what won where `--tuned` reads it."""
    lines = [
        "# Found by `sayu bench --sweep`; use it with --tuned, SAYU_TUNED or `tuned` in sayu.toml.",
        "[measured]",
        f'at = "{bench.measured_at}"',
        f'machine = "{bench.machine}"',
        f'model = "{bench.model}"',
        "",
        "[settings]",
        *(f"{name} = {value}" for name, value in best.items()),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
