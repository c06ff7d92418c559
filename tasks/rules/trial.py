"""What another rules file would have done to past dates, before it goes live.

In: the candidates of finished runs, or, for a date without one, of the source; the live rules and the new ones.
Out: a row a date and rule, with examples, and what the model had said of the pairs that would be turned away now. The
sample that goes on all the same is left out of it. Writes nothing, and needs no engine.
"""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, computed_field

from tasks.errors import SayuError, StoreError
from tasks.extract import clean_candidates, read_candidates, read_categories, read_dates
from tasks.records import CANDIDATES
from tasks.rules.file import Unknown, load_rules, unknown_categories
from tasks.rules.match import find_hits
from tasks.rules.schema import Rules
from tasks.runs import last_manifest
from tasks.settings import Settings

EXAMPLES = 3  # a date, rule and direction: enough to see what the rule means
PAIR = ("recommended_item_id", "reason_item_id")


class Changed(BaseModel):
    """A rule on a date. `now` and `then` are the pairs it sees under the live and the new file.

    `newly` of them would be turned away and go on now, `no_longer` the other way round. The model had decided `decided`
    of the newly rejected, and said write to `written` of those.
    """

    model_config = ConfigDict(frozen=True)
    ds: dt.date
    rule: str
    now: int = 0
    then: int = 0
    newly: int = 0
    no_longer: int = 0
    decided: int = 0
    written: int = 0


class Example(BaseModel):
    """A pair whose fate would change."""

    model_config = ConfigDict(frozen=True)
    ds: dt.date
    rule: str
    change: Literal["newly", "no_longer"]
    recommended_item: str
    reason_item: str
    evidence: str | None
    p_skip: float | None


class Tried(BaseModel):
    """What a new rules file would have done."""

    model_config = ConfigDict(frozen=True)
    live: str | None
    new: str | None
    dates: dict[dt.date, int]  # with their candidates
    rules: tuple[Changed, ...]
    examples: tuple[Example, ...]
    unknown_categories: tuple[Unknown, ...]
    max_rule_share: float

    @computed_field  # type: ignore[prop-decorator]  # which is how pydantic wants it
    @property
    def held_back(self) -> list[str]:
        """The dates that a new rule would hold back, as it turns away too much of them, each in one line."""
        return [
            f"{each.ds}: `{each.rule}` would turn away {each.then:,} of {self.dates[each.ds]:,} pairs"
            for each in self.rules
            if each.newly and each.then > self.max_rule_share * self.dates[each.ds]
        ]


def try_rules(new: Path | None, start: dt.date, end: dt.date, settings: Settings) -> Tried:
    """Apply the live rules (the setting `rules`) and the new ones to every date of a range that has candidates.

    Raises:
        RulesError: one of the files holds a mistake.
        SourceError, UsageError: the source can't be read, or neither it nor the store has one of the dates.
    """
    rules = load_rules(settings.rules), load_rules(new)
    changed: list[Changed] = []
    examples: list[Example] = []
    dates = {}
    for ds in _dates(start, end, settings):
        candidates = _past_candidates(ds, settings)
        dates[ds] = candidates.height
        pairs = _compare(candidates, *rules, _p_skips(ds, settings))
        changed += _count(ds, pairs, settings.threshold)
        examples += _examples(ds, pairs)
    return Tried(
        live=str(settings.rules) if settings.rules else None,
        new=str(new) if new else None,
        dates=dates,
        rules=tuple(changed),
        examples=tuple(examples),
        unknown_categories=tuple(_unknown(new, settings)),
        max_rule_share=settings.max_rule_share,
    )


def _unknown(new: Path | None, settings: Settings) -> list[Unknown]:
    try:
        return unknown_categories(new, read_categories(settings.source)["scate"].to_list())
    except SayuError:  # finished runs can be looked at without the source
        return []


def _dates(start: dt.date, end: dt.date, settings: Settings) -> list[dt.date]:
    days = (start + dt.timedelta(days=number) for number in range((end - start).days + 1))
    finished = {ds for ds in days if _run_folder(ds, settings)}
    try:
        return sorted(finished.union(read_dates(settings.source, start, end)))
    except SayuError:
        if not finished:
            raise
        return sorted(finished)


def _run_folder(ds: dt.date, settings: Settings) -> Path | None:
    """The folder of the run of a date that ended last."""
    try:
        return last_manifest(settings.store, ds).parent
    except StoreError:
        return None


def _past_candidates(ds: dt.date, settings: Settings) -> pl.DataFrame:
    folder = _run_folder(ds, settings)
    for name in ("candidates", "outcomes") if folder else ():  # `sayu prune` removes the candidates first
        path = folder / f"{name}.parquet"  # type: ignore[operator]
        if path.exists() and set(CANDIDATES.names()) <= set(pl.read_parquet_schema(path)):
            return pl.read_parquet(path, columns=CANDIDATES.names())
    return clean_candidates(read_candidates(settings.source, ds))


def _p_skips(ds: dt.date, settings: Settings) -> pl.DataFrame:
    """What the model had said: PAIR and `p_skip` of the date's outcomes."""
    folder = _run_folder(ds, settings)
    if folder is None or not (folder / "outcomes.parquet").exists():
        return pl.DataFrame(schema={**dict.fromkeys(PAIR, pl.Int64), "p_skip": pl.Float64})
    return pl.read_parquet(folder / "outcomes.parquet", columns=[*PAIR, "p_skip"]).unique(PAIR, keep="any")


def _compare(candidates: pl.DataFrame, live: Rules, new: Rules, said: pl.DataFrame) -> pl.DataFrame:
    """One row a hit of either file: `file` ("now" or "then"), `rule`, `rejects`, `changes`, the pair and `p_skip`."""
    hits = pl.concat([
        find_hits(candidates, rules, sample=0).with_columns(file=pl.lit(file), rejects=pl.col("effect") == "reject")
        for file, rules in (("now", live), ("then", new))
    ])  # fmt: skip
    both = hits.filter("rejects").group_by("candidate_id").len().filter(pl.col("len") == 2)["candidate_id"]
    changes = pl.col("rejects") & ~pl.col("candidate_id").is_in(both.implode())
    names = candidates.select("candidate_id", *PAIR, "recommended_item", "reason_item")
    return (
        hits.with_columns(changes=changes)
        .join(names, on="candidate_id", how="left", maintain_order="left")
        .join(said, on=PAIR, how="left", maintain_order="left")
    )


def _count(ds: dt.date, pairs: pl.DataFrame, threshold: float) -> Iterator[Changed]:
    now, newly = pl.col("file") == "now", (pl.col("file") == "then") & pl.col("changes")
    counted = pairs.group_by("rule", maintain_order=True).agg(
        now=now.sum(),
        then=(~now).sum(),
        newly=newly.sum(),
        no_longer=(now & pl.col("changes")).sum(),
        decided=(newly & pl.col("p_skip").is_not_null()).sum(),
        written=(newly & (pl.col("p_skip") < threshold)).sum(),
    )
    return (Changed(ds=ds, **row) for row in counted.iter_rows(named=True))


def _examples(ds: dt.date, pairs: pl.DataFrame) -> Iterator[Example]:
    chosen = pairs.filter("changes").group_by("file", "rule", maintain_order=True).head(EXAMPLES)
    for row in chosen.iter_rows(named=True):
        change: Literal["newly", "no_longer"] = "no_longer" if row["file"] == "now" else "newly"
        yield Example(ds=ds, change=change, **{name: row[name] for name in Example.model_fields if name in row})
