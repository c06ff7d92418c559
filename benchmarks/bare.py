"""The least that has to be done: load the engine, and send it prompts that somebody else has prepared.

`python -m benchmarks.bare PLAN SETTINGS`: the prompts of a `plan.parquet`, all at once, in its order, one request a
pair. No Prefect, no DuckDB, no checks, nothing stored. `benchmarks.overhead` compares the whole pipeline with it.
"""

import json
import sys
import time

import polars as pl

from tasks.engine import Request, Sampling, load_engine
from tasks.renderer import load_renderer
from tasks.settings import Settings


def main() -> None:
    """Ask for every prompt; print how many answers came, and how long loading and answering took."""
    settings = Settings.model_validate_json(sys.argv[2])
    start = time.perf_counter()
    engine = load_engine(settings)
    loaded = time.perf_counter()
    renderer = load_renderer(settings.prompt, settings.model)
    prompts = pl.read_parquet(sys.argv[1], columns=["prompt_ids"])["prompt_ids"].to_list()
    choice, sampling = renderer.choice(settings.threshold), renderer.prompt.sampling
    requests = [Request(prompt, 1 + sampling.max_tokens, choice) for prompt in prompts]
    begun = time.perf_counter()
    answers = engine.complete(requests, Sampling(sampling.temperature, sampling.seed, renderer.stop_ids))
    answered = time.perf_counter()
    written = sum(len(answer.token_ids) > 1 for answer in answers)
    seconds = {"loading": loaded - start, "answering": answered - begun}
    print(json.dumps({"pairs": len(answers), "written": written, **seconds}))


if __name__ == "__main__":
    main()
