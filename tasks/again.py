"""again: a text that fails its checks is asked for once more, while its prompt is still in the engine's cache.

In: one chunk's texts in the result store. Out: the same texts, each with whether it `passed`, a failed one replaced by
the first attempt that passes; and every attempt of the pairs that were asked more than once (records.ATTEMPTS).

The first answer is the likeliest one. Others are sampled, each with a seed made from its pair and attempt, so that a
run can be repeated. Where no attempt passes the first answer stays, and the checks of the date reject it as they find
it: what is judged here decides what is asked, never what is published.

Attempts are stored before the text that they mend. What is broken off between the two is put right when the chunk is
asked once more in the same run, and no attempt is asked twice.
"""

import datetime as dt
import hashlib
import logging
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl

from checks.rows import Catalogue, check_written
from tasks.attempts import times_asked, unfinished_texts
from tasks.check import as_written
from tasks.chunks import pairs_at_a_time, read_stored, text_row
from tasks.engine import Call, Completion, Request, Sampling, load_engine
from tasks.prompt import feedback
from tasks.records import ATTEMPTS, TEXTS, conform
from tasks.renderer import Renderer, load_renderer
from tasks.results import add_results, write_results
from tasks.runs import Run
from tasks.shards import budget_is_spent

logger = logging.getLogger("sayu")

# Checks are Python at work: two threads at it are no faster, and would load the analyser and the names twice.
_judging = threading.Lock()


def ask_again(run: Run, rows: pl.DataFrame, name: str) -> None:
    """Judge a chunk's texts, and ask again for those that fail, up to `attempts` times in all.

    Args:
        run: The run.
        rows: The rows of the chunk (records.PLAN) that are to be written.
        name: The name of the chunk's results.

    Raises:
        EngineError: the engine broke; what it has answered before is kept.
    """
    failed = _judge_stored(run, rows, name)
    for attempt in range(2, run.settings.attempts + 1):
        asked = rows.join(failed.filter(pl.col("asked") < attempt), on="key", maintain_order="left")
        for some in asked.iter_slices(pairs_at_a_time(run)):  # which is what a kill may lose
            if budget_is_spent(run):
                _say_once(run.ds, run.started_at, run.settings.engine_budget_minutes)
                return
            failed = _ask_once_more(run, some, attempt, name, failed)


def attempt_seed(key: str, attempt: int) -> int:
    """The seed of a pair's second or later attempt: 32 bits of a hash of both."""
    return int.from_bytes(hashlib.blake2b(f"{key} {attempt}".encode(), digest_size=4).digest())


def _judge_stored(run: Run, rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Leave in each stored text whether it passed; returns those that failed, with `codes` and how often `asked`.

    `codes` are those of the last attempt.
    """
    texts = read_stored(run, "texts", name).join(rows, on="key", how="semi", maintain_order="left")
    attempts = read_stored(run, "attempts", name)
    waiting = unfinished_texts(texts, attempts, run.settings.attempts)
    if waiting.is_empty():
        return waiting.with_columns(codes=pl.lit(""), asked=pl.lit(1, dtype=pl.Int64))
    mended = _first_that_passed(attempts.join(waiting, on="key", how="semi"))
    judged = _judge(run, waiting.join(mended, on="key", how="anti", maintain_order="left"), texts.filter("passed"))
    add_results(run.settings.store, "texts", name, pl.concat([judged.pipe(conform, TEXTS), mended]))
    last = attempts.sort("attempt").unique("key", keep="last").select("key", "codes")
    failed = judged.filter(~pl.col("passed")).update(last, on="key")
    return failed.join(times_asked(attempts), on="key", how="left", maintain_order="left").with_columns(
        pl.col("asked").fill_null(1)
    )


def _ask_once_more(run: Run, asked: pl.DataFrame, attempt: int, name: str, failed: pl.DataFrame) -> pl.DataFrame:
    """Ask, judge and store; returns what has failed by now of all that had `failed` before."""
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    answered = _ask(run, asked, attempt, renderer, name)
    texts = [text_row(run, key, answer, renderer) for key, answer in answered if answer.error is None]
    answers = pl.DataFrame(texts, schema=TEXTS, orient="row")
    answers = _judge(run, answers, read_stored(run, "texts", name).filter("passed"))
    _store(run, name, failed, answers.with_columns(attempt=pl.lit(attempt, dtype=pl.Int64)))
    failed = failed.update(answers.select("key", "codes", asked=pl.lit(attempt, dtype=pl.Int64)), on="key")
    return failed.filter(pl.col("codes") != "")


def _ask(
    run: Run, asked: pl.DataFrame, attempt: int, renderer: Renderer, name: str
) -> Sequence[tuple[str, Completion]]:
    """The answers of one more attempt, by key; a prompt that fails now has been answered before, and is let be."""
    prompts = asked["prompt_ids"].to_list()
    if run.settings.attempt_feedback:
        told = [feedback(renderer.prompt, codes.split(","), run.settings.max_characters) for codes in asked["codes"]]
        with _judging:
            payloads = asked.select("key").join(_names(run, asked["key"]), on="key", maintain_order="left")["payload"]
        prompts = renderer.render_again(payloads.to_list(), told)
    sampling = Sampling(run.settings.attempt_temperature, renderer.prompt.sampling.seed, renderer.stop_ids)
    most = renderer.prompt.sampling.max_tokens
    requests = [
        Request([*ids, renderer.write_id], most, seed=attempt_seed(key, attempt))
        for key, ids in zip(asked["key"], prompts, strict=True)
    ]
    answers = load_engine(run.settings).complete(requests, sampling, Call(name, pairs_at_a_time(run)))
    if errors := [answer.error for answer in answers if answer.error is not None]:
        logger.warning("%-9s %d texts could not be asked for again: %s", "generate", len(errors), errors[0])
    return list(zip(asked["key"], answers, strict=True))


def _store(run: Run, name: str, failed: pl.DataFrame, answers: pl.DataFrame) -> None:
    """Store one more attempt, with the first answers of pairs that had no other; then the texts that it mends."""
    before = read_stored(run, "attempts", name)
    firsts = failed.join(answers, on="key", how="semi").join(before, on="key", how="anti")
    attempts = [before, firsts.pipe(conform, ATTEMPTS), answers.pipe(conform, ATTEMPTS)]
    write_results(run.settings.store, "attempts", name, pl.concat(attempts))
    add_results(run.settings.store, "texts", name, answers.filter("passed").pipe(conform, TEXTS))


def _first_that_passed(attempts: pl.DataFrame) -> pl.DataFrame:
    """The texts (records.TEXTS) that attempts have brought: of each key the first that passed."""
    passed = attempts.filter(pl.col("codes") == "").sort("attempt").unique("key", keep="first", maintain_order=True)
    return passed.with_columns(passed=pl.lit(True)).pipe(conform, TEXTS)


def _judge(run: Run, answers: pl.DataFrame, beside: pl.DataFrame) -> pl.DataFrame:
    """`answers` with `codes` (those of the failed checks, commas between) and `passed`.

    `beside` are the other texts of the chunk, which one of these may repeat.
    """
    with _judging:
        judged, others = (
            [as_written(row) for row in _named(run, frame).iter_rows(named=True)] for frame in (answers, beside)
        )
        path = run.folder / "catalogue.parquet"
        catalogue = _catalogue(path, path.stat().st_mtime_ns)
        verdicts = check_written(judged, catalogue, run.settings.max_characters, others)
    codes = [",".join(failure.code for failure in verdict.failures) for verdict in verdicts]
    return answers.with_columns(codes=pl.Series(codes, dtype=pl.String)).with_columns(passed=pl.col("codes") == "")


def _named(run: Run, answers: pl.DataFrame) -> pl.DataFrame:
    return answers.join(_names(run, answers["key"]), on="key", maintain_order="left")


def _names(run: Run, keys: pl.Series) -> pl.DataFrame:
    """The pairs behind keys, as they stand in the prompts."""
    path = run.folder / "plan.parquet"
    pairs = _planned_pairs(run.folder, path.stat().st_mtime_ns, run.settings.attempt_feedback)
    return pairs.filter(pl.col("key").is_in(keys.implode()))


@lru_cache(maxsize=1)  # of the run that the process is at: some 60 MB at 135,000 pairs
def _planned_pairs(folder: Path, _written_at: int, with_payload: bool) -> pl.DataFrame:
    """`key`, the pair's names and basket, and the JSON of its prompt if asked for, one row a planned key.

    Candidates of one key have one prompt, and so the same names.
    """
    planned, keyed, candidates = (
        pl.scan_parquet(folder / f"{name}.parquet") for name in ("plan", "reused", "candidates")
    )
    columns = ["key", "recommended_item", "reason_item", "basket", *(["payload"] if with_payload else [])]
    return (
        keyed.join(planned.select("key"), on="key", how="semi")
        .unique("key", keep="first", maintain_order=True)
        .join(candidates, on="candidate_id", maintain_order="left")
        .select(columns)
        .collect()
    )


@lru_cache(maxsize=1)
def _catalogue(path: Path, _written_at: int) -> Catalogue:
    return Catalogue(pl.read_parquet(path)["item_name"].to_list())


@lru_cache(maxsize=16)
def _say_once(ds: dt.date, _started_at: dt.datetime, minutes: float | None) -> None:
    said = "%-9s %s: the engine's budget of %g minutes is spent, no text is asked for again any more"
    logger.warning(said, "generate", ds, minutes)
