"""A shop of six items for the tests, runs on it, and an engine that answers from a recording."""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from tasks.again import attempt_seed
from tasks.engine import Completion, Request, close_engine
from tasks.engine.recorded import recording_rows, write_recording
from tasks.extract import extract_candidates
from tasks.inspect import inspect_candidates
from tasks.plan import plan_chunks
from tasks.rank import rank_candidates
from tasks.renderer import load_renderer
from tasks.reuse import reuse_results
from tasks.runs import Run, describe_run
from tasks.screen import screen_candidates
from tasks.settings import HOME, Settings

DS = dt.date(2026, 11, 28)
MODEL = HOME / "demo" / "model"
PROMPT = HOME / "prompts" / "reason" / "v1"
RULES = HOME / "tests" / "rules.toml"  # what every shop's rules say; the rest goes to the model

ITEMS = [
    (1, "쌈배추(봉)", "쌈채소"),
    (2, "청경채(봉)", "잎채소"),
    (3, "두부(찌개용)", "두부"),
    (4, "된장(500g)", "장류"),
    (5, "세탁세제(3L)", "세제"),
    (6, "우유(1L)", None),
]
# what a prompt is rendered from
CANDIDATE = {
    "recommended_item": "쌈배추(봉)",
    "recommended_scate": "쌈채소",
    "reason_item": "청경채(봉)",
    "basket": ["청경채(봉)", "두부(찌개용)"],
}
# recommended item, reason item, score: five pairs of one basket, as the recommender gave them
PAIRS = [(1, 2, 0.9), (3, 4, 0.8), (4, 3, 0.7), (5, 2, 0.6), (6, 4, 0.5)]


def make_source(
    path: Path,
    items: Sequence[tuple[int, str | None, str | None]] | None = None,
    pairs: list[tuple[int, int, float]] | None = None,
    basket: list[int] | None = None,
    ds: dt.date = DS,
) -> Path:
    """A source DuckDB in the contract's form, with one basket."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE items (item_id BIGINT, item_name VARCHAR, scate VARCHAR)")
        connection.execute("CREATE TABLE baskets (ds DATE, basket_id VARCHAR, item_id BIGINT, position INTEGER)")
        connection.execute(
            "CREATE TABLE recommendations (ds DATE, basket_id VARCHAR, recommended_item_id BIGINT,"
            " reason_item_id BIGINT, score DOUBLE)"
        )
        for item in ITEMS if items is None else items:
            connection.execute("INSERT INTO items VALUES (?, ?, ?)", item)
        for position, item_id in enumerate([2, 3, 4] if basket is None else basket):
            connection.execute("INSERT INTO baskets VALUES (?, 'b1', ?, ?)", (ds, item_id, position))
        for pair in PAIRS if pairs is None else pairs:
            connection.execute("INSERT INTO recommendations VALUES (?, 'b1', ?, ?, ?)", (ds, *pair))
    return path


def make_run(tmp_path: Path, source: Path, **options: Any) -> Run:
    recording = tmp_path / "recording.parquet"
    if not recording.exists():
        write_recording(recording_rows([]), recording)
    given: dict[str, Any] = {"source": str(source), "store": tmp_path / "store", "rules": RULES, "data_docs": False}
    given["chunk_pairs"] = 1  # so that a few pairs are several chunks
    settings = Settings(**given | {"engine": "recorded", "recording": recording} | options)
    return describe_run(DS, settings)


def prepare(run: Run) -> int:
    """Every stage before the model; how many chunks were planned."""
    for stage in (extract_candidates, screen_candidates, inspect_candidates, reuse_results, rank_candidates):
        stage(run)
    return plan_chunks(run)


Answer = Callable[[dict[str, Any]], tuple[float, str]]


def record(run: Run, answer: Answer, again: Callable[[dict[str, Any], int], str] | None = None) -> None:
    """Let the run's engine answer each candidate with the p_skip and the text that `answer` gives for it.

    Asked again it gives the text that `again` has for the candidate and the attempt, or else the same text.

    A stand-in for the model: the texts are the test's, the token ids and the way back are the tokenizer's.
    """
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    choice = renderer.choice(threshold=0.5)
    rows = run.read("reused").join(run.read("candidates"), on="candidate_id").to_dicts()
    answers = []
    for row, prompt in zip(rows, renderer.render([row["payload"] for row in rows]), strict=True):
        p_skip, text = answer(row)
        decision = Completion(
            ((choice.go_on, choice.end)[p_skip >= 0.5],),
            (math.log(1 - p_skip), math.log(p_skip)),
            len(prompt),
            0,
            "stop",
        )
        answers.append((Request(prompt, 1, choice), decision))
        texts: dict[int | None, str] = {None: text}
        texts |= {attempt_seed(row["key"], n): again(row, n) for n in (2, 3) if again}
        for seed, said in texts.items():
            written = (*renderer.encode_answer(said), max(renderer.stop_ids))
            asked = Request([*prompt, renderer.write_id], renderer.prompt.sampling.max_tokens, seed=seed)
            answers.append((asked, Completion(written, (), len(prompt) + 1, 0, "stop")))
    assert run.settings.recording is not None
    write_recording(recording_rows(answers), run.settings.recording)
    close_engine()


def good_answer(row: dict[str, Any]) -> tuple[float, str]:
    """A text that passes every check for food, a skip for the rest."""
    names = [row[key].split("(")[0] for key in ("recommended_item", "reason_item")]
    return (
        0.9 if "세제" in row["recommended_item"] else 0.1
    ), f'", "text": "{names[0]}, {names[1]} 같이 드셔 보세요."}}'


def rows_of(frame: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return frame.select(columns).rows()
