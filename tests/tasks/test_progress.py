"""What a shard says while it works."""

import json
import threading
import time
from collections.abc import Sequence

import pytest

from tasks import progress
from tasks.engine import ALONE, Call, Completion, KvRoom, Request, Sampling, TimedEngine
from tasks.progress import Progress
from tasks.runs import Run
from tasks.shards import budget_is_spent


class Slow:
    """An engine that answers when it is told to."""

    max_model_len, preemptions = 100, 0
    room: KvRoom | None = None

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        self.asked.set()
        self.may_answer.wait(60)
        return [Completion((1,)) for _ in requests]

    def forget(self) -> None: ...

    def close(self) -> None: ...


def test_the_engines_account_is_renewed_while_it_is_at_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a budget is known to be spent before the last answer has come."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    run.folder.mkdir(parents=True)
    run = run.model_copy(update={"settings": run.settings.model_copy(update={"engine_budget_minutes": 1e-6})})
    slow = Slow()
    engine = TimedEngine(slow)
    asking = threading.Thread(target=engine.complete, args=([Request([1], 1)], Sampling(0, 0, frozenset())))
    with Progress(run, engine, chunks=2, name="shard") as shard:
        assert not budget_is_spent(run)
        asking.start()
        assert slow.asked.wait(60)
        before = engine.seconds
        time.sleep(0.01)  # what it has been at work is told in milliseconds
        shard.written(1)
        account = json.loads((run.folder / "shards" / "shard.json").read_text())
        assert 0 <= account["busy_seconds"] <= engine.seconds
        assert engine.seconds > before
        assert budget_is_spent(run)
        slow.may_answer.set()
        asking.join()
    idle = engine.seconds
    assert engine.seconds == idle
