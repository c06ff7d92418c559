"""vLLM in this process: loaded once, prefix cache on, on a GPU or on its CPU build.

The engine runs in the process itself (no multiprocessing): start-up is mostly imports, and one process imports once.
"""

import contextlib
import itertools
import logging
import os
import queue
import threading
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from tasks.engine import ALONE, Call, Choice, Completion, KvRoom, Request, Sampling, collect, seed_of
from tasks.engine.places import Places
from tasks.engine.vllm_errors import last_line, not_loaded
from tasks.errors import EngineError
from tasks.settings import Settings

# vLLM on a CPU takes multiples of 32 (its default of 128 is longer than most of our prompts, so nothing would ever be
# found again); on a GPU 16 is the smallest. Only whole blocks are cached, so small is good.
CPU_BLOCK_SIZE = 32
GPU_BLOCK_SIZE = 16

ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "true",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    # libgomp's threads wait for each other by spinning, some milliseconds by default. Where the cores are shared with
    # anything else (our own stages, say) that makes the engine three times slower; a short spin costs a few percent.
    "GOMP_SPINCOUNT": "1000",
    # vllm_choice is a logits processor of the first model runner; the second (GPU only) has an interface of its own.
    "VLLM_USE_V2_MODEL_RUNNER": "0",
}


@dataclass(slots=True)
class _Waiting:
    """A request in the engine, and whoever waits for it."""

    request: Request
    sampling: Sampling
    call: Call
    answer: "Future[Completion]"
    handed_over: float


class VllmLocal:
    """An `Engine` (see tasks.engine) on vLLM's `LLMEngine`.

    One thread loads the engine and turns its crank; callers hand requests over and wait. So requests of several
    callers are batched together, and what one caller does between its calls costs the engine nothing.
    """

    def __init__(self, settings: Settings) -> None:
        """Load the model.

        Raises:
            EngineError: vLLM is not installed, or does not take this model with these settings.
        """
        self.max_model_len = settings.max_model_len
        self.preemptions = 0
        self._handed_over: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._places: Places[_Waiting] = Places()
        self._waiting: dict[str, _Waiting] = {}
        self._numbers = itertools.count()
        self._broken: str | None = None
        self._engine: Any = None
        loaded: Future[KvRoom] = Future()
        # vLLM binds its compute threads to the thread that loads it: the same one must run it
        self._crank = threading.Thread(target=self._run, args=(settings, loaded), name="vllm", daemon=True)
        self._crank.start()
        self.room: KvRoom | None = loaded.result()

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        """See `Engine.complete`."""
        now = time.perf_counter()
        answers: list[Future[Completion]] = [Future() for _ in requests]
        for request, answer in zip(requests, answers, strict=True):
            if len(request.token_ids) + request.max_tokens > self.max_model_len:
                answer.set_result(self._too_long(request))
            else:
                self._handed_over.put(_Waiting(request, sampling, call, answer, now))
        if self._broken or not self._crank.is_alive():
            self._give_up(self._broken or "it was closed")
        return collect(answers, call.keep)

    def forget(self) -> None:
        """See `Engine.forget`."""
        self._engine.reset_prefix_cache()

    def close(self) -> None:
        """See `Engine.close`."""
        self._handed_over.put(None)
        self._crank.join()

    def _run(self, settings: Settings, loaded: "Future[KvRoom]") -> None:
        """Load the engine, then step while there is something to do, until it is closed or breaks."""
        try:
            engine = self._engine = _load(settings).llm_engine
            loaded.set_result(_room(engine))
        except Exception as error:
            loaded.set_exception(not_loaded(settings, error))
            return
        try:
            while self._take_over(engine):
                for output in engine.step():
                    self._answer(engine, output)
        except Exception as error:
            self._broken = last_line(error)
        engine.engine_core.shutdown()
        self._give_up(self._broken or "it was closed")

    def _take_over(self, engine: Any) -> bool:
        """Give the engine what has been handed over; waits where there is nothing to do. False: it is to be closed."""
        self._let_in(engine)
        while not self._handed_over.empty() or not self._waiting:
            handed_over = self._handed_over.get()
            if handed_over is None:
                return False
            self._places.wait(handed_over, handed_over.call.group, handed_over.call.at_most)
            self._let_in(engine)
        return True

    def _let_in(self, engine: Any) -> None:
        for waiting in self._places.let_in():
            self._add(engine, waiting)

    def _add(self, engine: Any, waiting: _Waiting) -> None:
        from vllm import TokensPrompt

        number = next(self._numbers)
        prompt = TokensPrompt(prompt_token_ids=list(waiting.request.token_ids))
        self._waiting[str(number)] = waiting
        engine.add_request(str(number), prompt, _parameters(waiting.request, waiting.sampling, number))

    def _answer(self, engine: Any, output: Any) -> None:
        from tasks.engine.vllm_choice import LabelChoice

        waiting = self._waiting.pop(output.request_id)
        self.preemptions += output.metrics.num_preemptions if output.metrics else 0
        label_logprobs = LabelChoice.logprobs.pop(int(output.request_id), ())
        completion = _completion(output, waiting, label_logprobs)
        if _stopped_at_a_word(completion, waiting.request.choice):
            self._go_on(engine, waiting, completion)
        else:
            self._places.leave()
            waiting.answer.set_result(completion)

    def _go_on(self, engine: Any, waiting: _Waiting, so_far: Completion) -> None:
        """Write on where the text holds the token that would have ended the answer had it come first."""
        request = waiting.request
        rest: Future[Completion] = Future()
        rest.add_done_callback(lambda done: _join(waiting, so_far, done))
        most = request.max_tokens - len(so_far.token_ids)
        left = Request([*request.token_ids, *so_far.token_ids], most, seed=request.seed)
        self._add(engine, replace(waiting, request=left, answer=rest))

    def _give_up(self, why: str) -> None:
        """Let nobody wait for ever."""
        error = EngineError(f"vLLM broke: {why}", "run again: what was answered is kept")
        with contextlib.suppress(queue.Empty):
            while True:
                if (handed_over := self._handed_over.get_nowait()) is not None:
                    handed_over.answer.set_exception(error)
        for waiting in self._places.give_up():
            waiting.answer.set_exception(error)
        while self._waiting:
            self._waiting.popitem()[1].answer.set_exception(error)

    def _too_long(self, request: Request) -> Completion:
        size = f"{len(request.token_ids)} prompt tokens and {request.max_tokens} of answer"
        return Completion(error=f"{size} are more than max_model_len = {self.max_model_len}")


def _load(settings: Settings) -> Any:
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    os.environ.pop("VLLM_CPU_KVCACHE_SPACE", None)  # it would overrule what is asked for below
    # What the libraries say of themselves while they load is nothing that a user could act on.
    logging.getLogger("torch._library.triton").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, message=".torch.distributed.reduce_op")
    try:
        from vllm import LLM
        from vllm.platforms import current_platform
    except ImportError as error:
        raise EngineError(
            f"vLLM can't be imported: {error}", "run `make setup`, or use --engine transformers"
        ) from error
    from tasks.engine.vllm_choice import LabelChoice

    on_cpu = current_platform.is_cpu()
    block_size = CPU_BLOCK_SIZE if on_cpu else GPU_BLOCK_SIZE
    options: dict[str, Any] = {}
    if settings.kv_tokens is not None:
        options["kv_cache_memory_bytes"] = _kv_bytes(settings, settings.kv_tokens, block_size)
    elif on_cpu:
        options["kv_cache_memory_bytes"] = int(settings.kv_cache_gib * 2**30)
    return LLM(
        model=str(settings.model),
        skip_tokenizer_init=True,
        dtype=settings.dtype,
        max_model_len=settings.max_model_len,
        max_num_seqs=settings.max_num_seqs,
        gpu_memory_utilization=settings.gpu_memory_utilization,
        max_num_batched_tokens=settings.max_num_batched_tokens,
        enable_prefix_caching=settings.prefix_cache,
        kv_offloading_size=settings.kv_offload_gib,
        block_size=block_size,
        # compiling takes minutes on a CPU and gains little there
        enforce_eager=on_cpu,
        disable_log_stats=False,
        use_tqdm_on_load=False,
        logits_processors=[LabelChoice],
        seed=0,
        **options,
    )


def _kv_bytes(settings: Settings, tokens: int, block_size: int) -> int:
    """Memory that holds so many tokens of one sequence, in whole blocks: a key and a value in every layer.

    So much memory, not so many blocks: a model with sliding-window layers splits its blocks among
    several KV groups, each a share of the layers.
    """
    import torch
    from transformers import AutoConfig

    config: Any = AutoConfig.from_pretrained(str(settings.model), local_files_only=True).get_text_config()
    head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    dtype = getattr(config, "dtype", None) if settings.dtype == "auto" else getattr(torch, settings.dtype)
    bytes_a_token = (
        2 * config.num_hidden_layers * config.num_key_value_heads * head_size * (dtype or torch.float).itemsize
    )
    return -(-tokens // block_size) * block_size * int(bytes_a_token)


def _room(engine: Any) -> KvRoom:
    """KV room for sequences shorter than every sliding window.

    Models with sliding-window layers keep several KV groups, and a sequence takes blocks for each from the one pool:
    blocks × block size would overstate the room by their number.
    """
    configuration = engine.engine_core.engine_core.scheduler.kv_cache_config
    block_size = engine.vllm_config.cache_config.block_size
    groups = len(configuration.kv_cache_groups)
    return KvRoom(tokens=configuration.num_blocks // groups * block_size, block_size=block_size)


def _parameters(request: Request, sampling: Sampling, number: int) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    from tasks.engine.vllm_choice import NAME

    choice = request.choice
    return SamplingParams(
        temperature=sampling.temperature,
        seed=seed_of(request, sampling),
        max_tokens=request.max_tokens,
        stop_token_ids=sorted(sampling.stop_ids | ({choice.end} if choice else set())),
        extra_args={NAME: (number, choice)} if choice else None,
        detokenize=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _completion(output: Any, waiting: _Waiting, label_logprobs: tuple[float, ...]) -> Completion:
    answer = output.outputs[0]
    return Completion(
        token_ids=tuple(answer.token_ids),
        label_logprobs=label_logprobs,
        prompt_tokens=len(waiting.request.token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        finish_reason=answer.finish_reason or "length",
        seconds=time.perf_counter() - waiting.handed_over,
    )


def _stopped_at_a_word(completion: Completion, choice: Choice | None) -> bool:
    """Whether an answer that goes on was ended by the label `end`, which is an ordinary word behind the first token."""
    written = completion.token_ids
    return choice is not None and len(written) > 1 and written[-1] == choice.end and completion.finish_reason == "stop"


def _join(waiting: _Waiting, so_far: Completion, rest: "Future[Completion]") -> None:
    if error := rest.exception():
        waiting.answer.set_exception(error)
        return
    end = rest.result()
    tokens = so_far.token_ids + end.token_ids
    joined = replace(so_far, token_ids=tokens, finish_reason=end.finish_reason, error=end.error, seconds=end.seconds)
    waiting.answer.set_result(joined)
