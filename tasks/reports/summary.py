"""A date in numbers: what `manifest.json` holds, for the command line, the reports and machines."""

import datetime as dt
from collections import Counter

import polars as pl
from pydantic import BaseModel, ConfigDict

from checks.drift import Drift
from checks.gate import Gate, Verdict
from checks.length import MAX_CHARACTERS
from tasks.attempts import Attempts, count_attempts, text_requests
from tasks.cache import Cache, account_cache
from tasks.embedding import describe_ranking
from tasks.hits import Hits
from tasks.load import Publication
from tasks.records import Outcome
from tasks.results import find_results
from tasks.rules.account import RuleCount, count_rules, read_applied
from tasks.rules.file import Unknown
from tasks.runs import Run, last_manifest
from tasks.settings import Settings
from tasks.waterfall import Waterfall, account_waterfall


class Tokens(BaseModel):
    """Tokens of one stage in this run: read in all, found in the cache, written.

    `calls` are requests to the engine: a text that came with its decision took none of its own.
    """

    model_config = ConfigDict(frozen=True)
    pairs: int = 0
    calls: int = 0
    prompt: int = 0
    cached: int = 0
    generated: int = 0

    @property
    def computed(self) -> int:
        """Prompt tokens that the engine really read."""
        return self.prompt - self.cached

    @property
    def worked(self) -> int:
        """Tokens that the engine computed and wrote."""
        return self.computed + self.generated


class Predicted(BaseModel):
    """What was foreseen of the engine before it was asked: prompt tokens that it reads, and its seconds."""

    model_config = ConfigDict(frozen=True)
    computed: int
    engine_seconds: float


class Summary(BaseModel):
    """A date in numbers. `outcomes` add up to `candidates`."""

    model_config = ConfigDict(frozen=True)
    ds: str
    run_key: str
    model: str
    prompt: str
    engine: str
    threshold: float
    candidates: int
    outcomes: dict[str, int]
    reused: int
    model_calls: int  # for first answers; `attempts.calls` are those for others
    skip_rate: float | None  # skipped / all pairs with a decision
    decide: Tokens
    generate: Tokens
    seconds: dict[str, float]
    order: str = ""
    engine_seconds: float = 0.0  # of decide and generate: what the engine itself was at work
    expected_cache_share: float = 0.0
    cache: Cache | None = None  # None: no engine with a prefix cache was asked
    attempts: Attempts | None = None  # None: a run from before texts were asked for again
    max_characters: int = MAX_CHARACTERS
    predicted: Predicted | None = None  # None: nobody knew this engine
    verdict: str
    reasons: tuple[str, ...]
    publication_id: int | None
    serving: str
    report: str  # the report's path
    link: str = ""  # the report's address: below the setting `reports_url`, else the file's own
    approved_by: str | None = None
    approval_reason: str | None = None
    ranking: dict[str, int | str | None] | None = None  # None: no pair was to be ranked out
    drift: Drift | None = None  # of the skip rate, where the checks looked for one
    rules: tuple[RuleCount, ...] = ()  # those of the screen stage, in their order
    unknown_categories: tuple[Unknown, ...] = ()  # that the rules file names
    reuse: Hits | None = None  # None: nothing was looked up, the date was held back before
    waterfall: Waterfall | None = None  # None: an older run's

    @property
    def written(self) -> int:
        """Pairs whose answer was judged."""
        return self.outcomes[Outcome.PUBLISHED] + self.outcomes[Outcome.REJECTED]

    @property
    def kind(self) -> str:
        """What became of the date: one of the names under "the verdict" in words.WORDS."""
        if self.publication_id is None:
            return "held_back" if self.verdict == Verdict.HELD_BACK else "not_published"
        return {
            Verdict.PASSED: "published",
            Verdict.WARNED: "published_warned",
            Verdict.HELD_BACK: "published_approved",
        }[Verdict(self.verdict)]

    @property
    def passed(self) -> str:
        """What the reasons that passed are called (a name in words.WORDS): they need not be published."""
        return "outcome_published_held" if self.publication_id is None else "outcome_published"


def summarize(run: Run, outcomes: pl.DataFrame, gate: Gate, publication: Publication | None) -> Summary:
    """The date in numbers, from the outcomes and from what this run's plan got."""
    counts = Counter(outcomes["outcome"])
    decided = outcomes["p_skip"].count()
    decide, generate = count_tokens(run)
    engine_seconds = read_engine_seconds(run)
    attempts = count_attempts(run, engine_seconds, decide.worked + generate.worked)
    report = (run.folder / "report.html").resolve()
    return Summary(
        ds=str(run.ds),
        run_key=run.key,
        model=run.model,
        prompt=run.prompt,
        engine=run.settings.engine,
        threshold=run.settings.threshold,
        candidates=outcomes.height,
        outcomes={outcome.value: counts[outcome.value] for outcome in Outcome},
        reused=int(outcomes["reused"].sum()),
        model_calls=decide.calls + generate.calls - attempts.calls,
        skip_rate=counts[Outcome.SKIPPED] / decided if decided else None,
        decide=decide,
        generate=generate,
        seconds=run.seconds(),
        order=run.settings.order,
        expected_cache_share=run.settings.expected_cache_share,
        cache=account_cache(run),
        attempts=attempts,
        max_characters=run.settings.max_characters,
        engine_seconds=engine_seconds,
        predicted=read_predicted(run),
        verdict=gate.verdict.value,
        reasons=gate.reasons,
        publication_id=publication.publication_id if publication else None,
        serving=str(run.settings.serving_file.resolve()),
        report=str(report),
        link=_link(run) or report.as_uri(),
        approved_by=publication.approved_by if publication else None,
        approval_reason=publication.approval_reason if publication else None,
        ranking=describe_ranking(run.settings),
        drift=read_drift(run),
        rules=count_rules(run, outcomes),
        unknown_categories=read_applied(run).unknown,
        reuse=read_hits(run),
        waterfall=account_waterfall(run, outcomes, engine_seconds, attempts),
    )


def read_engine_seconds(run: Run) -> float:
    """Seconds that the engine was at work in this run; 0 where it was not asked."""
    return float(run.read_json("engine")["busy_seconds"]) if (run.folder / "engine.json").exists() else 0.0


def read_predicted(run: Run) -> Predicted | None:
    """What was foreseen of this run, as `predicted.json` in the run folder; None where nothing was."""
    if not (run.folder / "predicted.json").exists():
        return None
    return Predicted.model_validate(run.read_json("predicted"))


def read_drift(run: Run) -> Drift | None:
    """The drift of the skip rate that the checks left in the run folder, as `drift.json`; None where they left none."""
    if not (run.folder / "drift.json").exists():
        return None
    return Drift.model_validate(run.read_json("drift")["skip_rate"])


def read_hits(run: Run) -> Hits | None:
    """What the pairs found in the result store, as the stage `reuse` left it; None where it was not run."""
    return Hits.model_validate(run.read_json("reuse")) if (run.folder / "reuse.json").exists() else None


def count_tokens(run: Run) -> tuple[Tokens, Tokens]:
    """What the engine read and wrote in this run: the stored counts of the pairs that the plan asked for.

    Texts that were asked for more than once count with every attempt.
    """
    plan = run.read("plan").select("key", "ask")
    if plan.is_empty():
        return Tokens(), Tokens()
    to_decide = plan.filter(pl.col("ask") == "decide")["key"]
    store = run.settings.store
    decided = find_results(store, "decisions", to_decide, run.started_at)
    written = text_requests(run, plan["key"])
    return _tokens(decided, decided.height), _tokens(written, int(written["generated_tokens"].sum()))


def latest_summary(settings: Settings, ds: dt.date) -> Summary:
    """What the last finished run of a date says in numbers.

    Raises:
        StoreError: no run of this date has finished.
    """
    return Summary.model_validate_json(last_manifest(settings.store, ds).read_text(encoding="utf-8"))


def _tokens(results: pl.DataFrame, generated: int) -> Tokens:
    return Tokens(
        pairs=results["key"].n_unique(),
        calls=results.filter(pl.col("prompt_tokens") > 0).height,
        prompt=int(results["prompt_tokens"].sum()),
        cached=int(results["cached_tokens"].sum()),
        generated=generated,
    )


def _link(run: Run) -> str | None:
    address = run.settings.reports_url
    path = (run.folder / "report.html").relative_to(run.settings.store).as_posix()
    return f"{address.rstrip('/')}/{path}" if address else None
