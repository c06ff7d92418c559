"""`sayu …` with something that goes wrong in it: `python -m tests.integration.faulty daily …`.

What goes wrong is in the environment, so that it also reaches the processes that a worker starts (with this module's
`break_things` called from a `sitecustomize.py`):

- FAULTY_SLOW: seconds that the engine takes for each call
- FAULTY_ASKED: a file that gets a line for each prompt that the engine is asked
- FAULTY_HOLD: where to stop and wait to be killed: `decide` or `generate` (at the engine's third such call), `check`
  (between check and load), `load` (in its transaction); FAULTY_HELD: a file that says it is there
- FAULTY_DEADLY: a prompt, by its digest, at which the process dies
- FAULTY_TOGETHER: a folder in which this many processes meet before they load the engine
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CALLS = {"decide": 0, "generate": 0}


def break_things() -> None:
    """Put the faults in."""
    break_the_engine()
    break_the_load()


def break_the_engine() -> None:
    from tasks.engine import ALONE, Call, Completion, Request, Sampling
    from tasks.engine.recorded import Recorded, prompt_digest

    complete, start = Recorded.complete, Recorded.__init__

    def faulty_complete(
        self: Recorded, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE
    ) -> list[Completion]:
        stage = "decide" if requests[0].choice else "generate"
        CALLS[stage] += 1
        digests = [prompt_digest(request.token_ids).hex() for request in requests]
        if asked := os.environ.get("FAULTY_ASKED"):
            with Path(asked).open("a", encoding="utf-8") as file:
                file.writelines(f"{os.getpid()} {stage} {digest}\n" for digest in digests)
        if os.environ.get("FAULTY_DEADLY") in digests:
            os.kill(os.getpid(), signal.SIGKILL)
        if CALLS[stage] >= 3:
            hold(stage)
        time.sleep(float(os.environ.get("FAULTY_SLOW", "0")))
        return complete(self, requests, sampling, call)

    def meet_then_start(self: Recorded, settings: Any) -> None:
        if folder := os.environ.get("FAULTY_TOGETHER"):
            (Path(folder) / str(os.getpid())).touch()
            while len(list(Path(folder).iterdir())) < 2:
                time.sleep(0.01)
        start(self, settings)

    Recorded.complete = faulty_complete  # type: ignore[method-assign]
    Recorded.__init__ = meet_then_start  # type: ignore[method-assign]


def break_the_load() -> None:
    import tasks.load

    module: Any = tasks.load
    load, execute = module.load_date, module._execute

    def faulty_load(*arguments: Any) -> Any:
        hold("check")
        return load(*arguments)

    def faulty_execute(connection: Any, statement: str, *values: Any) -> Any:
        done = execute(connection, statement, *values)
        if statement == "insert_reasons":
            hold("load")
        return done

    module.load_date, module._execute = faulty_load, faulty_execute


def hold(where: str) -> None:
    """Wait here for the end, where the environment says so."""
    if os.environ.get("FAULTY_HOLD") == where:
        Path(os.environ["FAULTY_HELD"]).touch()
        time.sleep(3600)


def main() -> None:
    """`sayu …`, or `shard DATE RUN FIRST LAST STORE` as a worker would run it."""
    break_things()
    if sys.argv[1] == "shard":
        import datetime as dt

        from flows.shard import shard

        ds, run_key, first, last, store = sys.argv[2:]
        shard(dt.date.fromisoformat(ds), run_key, int(first), int(last), Path(store))
    else:
        from flows.__main__ import main as sayu

        sayu()


if __name__ == "__main__":
    main()
