"""A recording is asked by prompt, kind of request and seed."""

from pathlib import Path

from tasks.engine import Completion, Request, Sampling
from tasks.engine.recorded import Recorded, recording_rows, write_recording
from tasks.settings import Settings

SAMPLED = Sampling(temperature=0.8, seed=0, stop_ids=frozenset())


def test_a_prompt_has_an_answer_for_each_seed_or_else_its_likeliest_one(tmp_path: Path) -> None:
    answers = [(Request([1, 2], 9), Completion((7,))), (Request([1, 2], 9, seed=2), Completion((8,)))]
    write_recording(recording_rows(answers), tmp_path / "recording.parquet")
    engine = Recorded(Settings(engine="recorded", recording=tmp_path / "recording.parquet"))
    asked = [Request([1, 2], 9, seed=seed) for seed in (None, 2, 3)]
    assert [answer.token_ids for answer in engine.complete(asked, SAMPLED)] == [(7,), (8,), (7,)]
    (unknown,) = engine.complete([Request([1, 3], 9, seed=2)], SAMPLED)
    assert unknown.error == "this prompt is not in the recording"
