"""vLLM in this process: loaded once, prefix cache on, on a GPU or on its CPU build.

The engine runs in the process itself (no multiprocessing): start-up is mostly imports, and one process imports once.
"""

import logging
import os
import threading
import warnings
from collections.abc import Sequence
from typing import Any

from tasks.engine import Completion, KvRoom, Request, Sampling
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
}


class VllmLocal:
    """An `Engine` (see tasks.engine) on vLLM's `LLM`."""

    def __init__(self, settings: Settings) -> None:
        """Load the model.

        Raises:
            EngineError: vLLM is not installed, or does not take this model with these settings.
        """
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(settings.kv_cache_gib)
        try:
            self._llm = _load(settings)
        except EngineError:
            raise
        except Exception as error:
            raise EngineError(
                f"vLLM could not load {settings.model}: {_last_line(error)}",
                "lower max_model_len, kv_cache_gib (CPU) or gpu_memory_utilization (GPU) if memory ran out; "
                "else try --engine transformers to see whether the model folder is whole",
            ) from error
        self.max_model_len = settings.max_model_len
        self.room: KvRoom | None = _room(self._llm)
        self._one_caller = threading.Lock()  # LLM.generate must not be called from two threads at once

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """See `Engine.complete`. Too long prompts are found before they are sent: vLLM would refuse the whole call."""
        from vllm import TokensPrompt

        fits = [len(request.token_ids) + request.max_tokens <= self.max_model_len for request in requests]
        sent = [request for request, fit in zip(requests, fits, strict=True) if fit]
        prompts = [TokensPrompt(prompt_token_ids=list(request.token_ids)) for request in sent]
        parameters = [_parameters(request, sampling) for request in sent]
        with self._one_caller:
            try:
                outputs = iter(self._llm.generate(prompts, parameters, use_tqdm=False) if sent else [])
            except Exception as error:
                raise EngineError(f"vLLM broke: {_last_line(error)}", "run again: finished chunks are kept") from error
        return [
            _completion(next(outputs), request) if fit else self._too_long(request)
            for request, fit in zip(requests, fits, strict=True)
        ]

    def close(self) -> None:
        """Give back the engine's memory."""
        self._llm.llm_engine.engine_core.shutdown()
        del self._llm

    def _too_long(self, request: Request) -> Completion:
        size = f"{len(request.token_ids)} prompt tokens and {request.max_tokens} of answer"
        return Completion(error=f"{size} are more than max_model_len = {self.max_model_len}")


def _load(settings: Settings) -> Any:
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

    on_cpu = current_platform.is_cpu()
    block_size = CPU_BLOCK_SIZE if on_cpu else GPU_BLOCK_SIZE
    options: dict[str, Any] = {}
    if settings.kv_tokens is not None:
        options["num_gpu_blocks_override"] = settings.kv_tokens // block_size
    return LLM(
        model=str(settings.model),
        skip_tokenizer_init=True,
        dtype=settings.dtype,
        max_model_len=settings.max_model_len,
        max_num_seqs=settings.max_num_seqs,
        gpu_memory_utilization=settings.gpu_memory_utilization,
        enable_prefix_caching=True,
        block_size=block_size,
        # compiling takes minutes on a CPU and gains little there
        enforce_eager=on_cpu,
        disable_log_stats=False,
        use_tqdm_on_load=False,
        seed=0,
        **options,
    )


def _room(llm: Any) -> KvRoom:
    """KV room for sequences shorter than every sliding window.

    Models with sliding-window layers keep several KV groups, and a sequence takes blocks for each from the one pool:
    blocks × block size would overstate the room by their number.
    """
    configuration = llm.llm_engine.engine_core.engine_core.scheduler.kv_cache_config
    block_size = llm.llm_engine.vllm_config.cache_config.block_size
    groups = len(configuration.kv_cache_groups)
    return KvRoom(tokens=configuration.num_blocks // groups * block_size, block_size=block_size)


def _parameters(request: Request, sampling: Sampling) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        temperature=sampling.temperature,
        seed=sampling.seed if sampling.temperature > 0 else None,
        max_tokens=request.max_tokens,
        stop_token_ids=sorted(sampling.stop_ids),
        # logprobs of a whole vocabulary are dear: just the labels', and only where asked
        logprob_token_ids=list(request.label_ids) or None,
        detokenize=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _completion(output: Any, request: Request) -> Completion:
    answer = output.outputs[0]
    first = answer.logprobs[0] if request.label_ids else {}
    return Completion(
        token_ids=tuple(answer.token_ids),
        label_logprobs=tuple(first[label].logprob for label in request.label_ids),
        prompt_tokens=len(request.token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        finish_reason=answer.finish_reason or "length",
    )


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]
