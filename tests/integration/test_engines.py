"""The engines behind the one protocol give the same answers: vLLM is faster than plain generation, nothing else.

They are compared in float32, where nothing is rounded away: what is left is the order of summation. In bfloat16 the
same model's p_skip moves by some hundredths, so there only decisions outside a band round the threshold must agree.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tasks.decide import skip_probability
from tasks.engine import Call, Completion, Engine, Request, Sampling
from tasks.engine.recorded import Recorded, recording_rows, write_recording
from tasks.engine.transformers_batch import TransformersBatch
from tasks.engine.vllm_local import VllmLocal
from tasks.extract import clean_candidates, read_candidates
from tasks.prompt import payload
from tasks.renderer import Renderer, load_renderer
from tasks.settings import Settings
from tests.integration.conftest import DS

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

PROMPTS = 64
SAME = 0.001  # p_skip in float32
BAND = 0.02  # p_skip in bfloat16, round the threshold
SMALL_ROOM, SHORT = 2048, 256  # tokens: a few prompts with their answers, and no prompt is longer


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    settings = Settings()
    return load_renderer(settings.prompt, settings.model)


@pytest.fixture(scope="module")
def prompts(demo_source: Path, renderer: Renderer) -> list[list[int]]:
    rows = clean_candidates(read_candidates(str(demo_source), DS)).head(PROMPTS).iter_rows(named=True)
    return renderer.render([payload(renderer.prompt, row) for row in rows])


@pytest.fixture(scope="module")
def requests_made(prompts: list[list[int]], renderer: Renderer) -> list[Request]:
    """A decision for every prompt, then a text for every prompt, as the stages ask for them."""
    choice = renderer.choice(threshold=0.5)
    decisions = [Request(prompt, max_tokens=1, choice=choice) for prompt in prompts]
    return decisions + [Request([*prompt, renderer.write_id], max_tokens=64) for prompt in prompts]


@pytest.fixture(scope="module")
def sampling(renderer: Renderer) -> Sampling:
    return Sampling(temperature=0.0, seed=0, stop_ids=renderer.stop_ids)


def ask(engine: Engine, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
    half = len(requests) // 2
    return engine.complete(requests[:half], sampling) + engine.complete(requests[half:], sampling)


@pytest.fixture(scope="module")
def vllm(requests_made: list[Request], sampling: Sampling) -> Iterator[tuple[VllmLocal, list[Completion]]]:
    engine = VllmLocal(Settings(dtype="float32"))
    yield engine, ask(engine, requests_made, sampling)
    engine.close()


@pytest.fixture(scope="module")
def plain(requests_made: list[Request], sampling: Sampling) -> tuple[TransformersBatch, list[Completion]]:
    engine = TransformersBatch(Settings(engine="transformers", dtype="float32"))
    return engine, ask(engine, requests_made, sampling)


def p_skips(completions: Sequence[Completion]) -> np.ndarray:
    return np.array([skip_probability(*answer.label_logprobs) for answer in completions[:PROMPTS]])


def test_vllm_and_plain_generation_decide_and_write_the_same(
    vllm: tuple[VllmLocal, list[Completion]], plain: tuple[TransformersBatch, list[Completion]]
) -> None:
    assert p_skips(vllm[1]) == pytest.approx(p_skips(plain[1]), abs=SAME)
    texts = [[answer.token_ids for answer in completions[PROMPTS:]] for _, completions in (vllm, plain)]
    alike = sum(one == other for one, other in zip(*texts, strict=True))
    assert alike >= 0.95 * PROMPTS  # greedy texts may part where two tokens are as likely


@pytest.mark.parametrize("name", ["vllm", "plain"])
def test_tokens_are_counted(name: str, requests_made: list[Request], request: pytest.FixtureRequest) -> None:
    _, completions = request.getfixturevalue(name)
    assert [answer.error for answer in completions] == [None] * len(completions)
    assert [answer.prompt_tokens for answer in completions] == [len(asked.token_ids) for asked in requests_made]
    assert all(len(answer.token_ids) == 1 for answer in completions[:PROMPTS])
    assert all(0 < len(answer.token_ids) <= 64 for answer in completions[PROMPTS:])
    for answer in completions[PROMPTS:]:
        assert answer.finish_reason == "stop" or (answer.finish_reason, len(answer.token_ids)) == ("length", 64)


def test_vllm_finds_what_decide_read_and_plain_generation_finds_nothing(
    vllm: tuple[VllmLocal, list[Completion]], plain: tuple[TransformersBatch, list[Completion]]
) -> None:
    engine, completions = vllm
    assert engine.room is not None
    block = engine.room.block_size
    for answer in completions[PROMPTS:]:
        assert answer.cached_tokens >= (answer.prompt_tokens - 1) // block * block - block
    assert sum(answer.cached_tokens for answer in plain[1]) == 0


def test_a_recording_replays_what_vllm_said(
    tmp_path: Path, vllm: tuple[VllmLocal, list[Completion]], requests_made: list[Request], sampling: Sampling
) -> None:
    recording = tmp_path / "recording.parquet"
    write_recording(recording_rows(zip(requests_made, vllm[1], strict=True)), recording)
    replayed = ask(Recorded(Settings(engine="recorded", recording=recording)), requests_made, sampling)
    for said, again in zip(vllm[1], replayed, strict=True):
        assert again.token_ids == said.token_ids
        assert again.label_logprobs == said.label_logprobs
        assert (again.prompt_tokens, again.finish_reason) == (said.prompt_tokens, said.finish_reason)


@pytest.mark.parametrize("name", ["vllm", "plain"])
def test_each_answer_is_told_as_it_comes(
    name: str, requests_made: list[Request], sampling: Sampling, request: pytest.FixtureRequest
) -> None:
    engine: Engine = request.getfixturevalue(name)[0]
    told: dict[int, Completion] = {}
    answers = engine.complete(requests_made, sampling, Call(keep=told.__setitem__))
    assert [told[number] for number in range(len(requests_made))] == answers


def test_no_more_are_answered_at_a_time_than_the_call_wants(
    vllm: tuple[VllmLocal, list[Completion]], requests_made: list[Request], sampling: Sampling
) -> None:
    """One at a time they come in their order, whatever their length."""
    told: list[int] = []
    vllm[0].complete(requests_made, sampling, Call(at_most=1, keep=lambda number, _: told.append(number)))
    assert told == list(range(len(requests_made)))


@pytest.mark.parametrize("name", ["vllm", "plain", "recorded"])
def test_a_prompt_that_is_too_long_fails_alone(
    name: str,
    tmp_path: Path,
    requests_made: list[Request],
    sampling: Sampling,
    vllm: tuple[VllmLocal, list[Completion]],
    request: pytest.FixtureRequest,
) -> None:
    """To a recording any prompt that it does not hold is one that failed."""
    fine = requests_made[:3]
    engine: Engine
    if name == "recorded":
        recording = tmp_path / "recording.parquet"
        write_recording(recording_rows(zip(fine, vllm[1], strict=False)), recording)
        engine = Recorded(Settings(engine="recorded", recording=recording))
    else:
        engine = request.getfixturevalue(name)[0]
    too_long = Request([*fine[0].token_ids] * 20, max_tokens=1, choice=fine[0].choice)
    answers = engine.complete([fine[0], too_long, *fine[1:]], sampling)
    assert answers[1].error is not None
    alone = [answers[0], *answers[2:]]
    assert [answer.error for answer in alone] == [None] * 3
    one = [skip_probability(*answer.label_logprobs) for answer in alone]
    assert one == pytest.approx(p_skips(vllm[1])[:3], abs=SAME)


# The last two load an engine of their own: closing one takes with it what another in the process stands on.


def test_the_models_own_precision_decides_the_same_outside_a_band(
    vllm: tuple[VllmLocal, list[Completion]], requests_made: list[Request], sampling: Sampling
) -> None:
    engine = VllmLocal(Settings())
    try:
        rounded = p_skips(engine.complete(requests_made[:PROMPTS], sampling))
    finally:
        engine.close()
    exact = p_skips(vllm[1])
    clear = np.abs(exact - 0.5) > BAND
    assert clear.any()
    assert ((rounded < 0.5) == (exact < 0.5))[clear].all()


def test_a_small_kv_room_costs_cache_hits_and_no_answer(
    requests_made: list[Request], sampling: Sampling, vllm: tuple[VllmLocal, list[Completion]]
) -> None:
    engine = VllmLocal(Settings(dtype="float32", kv_tokens=SMALL_ROOM, max_model_len=SHORT))
    try:
        assert engine.room is not None
        assert engine.room.tokens <= SMALL_ROOM
        completions = ask(engine, requests_made, sampling)
    finally:
        engine.close()
    assert [answer.error for answer in completions] == [None] * len(completions)
    assert p_skips(completions) == pytest.approx(p_skips(vllm[1]), abs=SAME)
    found = sum(answer.cached_tokens for answer in completions)
    assert found < sum(answer.cached_tokens for answer in vllm[1])
