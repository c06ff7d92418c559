"""What vLLM says when it can't be loaded, in our words: which setting to change, and what it is now."""

from tasks.errors import EngineError
from tasks.settings import Settings


def not_loaded(settings: Settings, error: Exception) -> EngineError:
    """The error of an engine that could not be loaded."""
    if isinstance(error, EngineError):
        return error
    return EngineError(f"vLLM could not load {settings.model}: {last_line(error)}", way_out(settings, str(error)))


def way_out(settings: Settings, said: str) -> str:
    """What to do about it, by vLLM's own words (v1/worker/, v1/core/kv_cache_utils.py) or torch's."""
    on_gpu = f"gpu_memory_utilization (now {settings.gpu_memory_utilization})"
    on_cpu = f"kv_cache_gib (now {settings.kv_cache_gib:g})"
    if settings.kv_tokens:
        on_cpu = f"kv_tokens (now {settings.kv_tokens})"
    ways_out = {
        "Available memory on node": f"lower {on_cpu}: this machine has less memory free",
        "can't allocate memory": f"lower {on_cpu}: this machine has less memory free",
        "Free memory on device": f"lower {on_gpu}, or end what else uses the GPU",
        "No available memory for the cache blocks": (
            f"raise {on_gpu}, or lower max_num_batched_tokens: the model leaves no room for KV"
        ),
        "To serve at least one request": (
            f"lower max_model_len (now {settings.max_model_len}), or raise {on_gpu}, on a CPU {on_cpu}"
        ),
        "out of memory": f"lower {on_gpu}, max_num_seqs (now {settings.max_num_seqs}) or max_num_batched_tokens",
    }
    known = [todo for words, todo in ways_out.items() if words in said]
    return known[0] if known else "try --engine transformers to see whether the model folder is whole"


def last_line(error: Exception) -> str:
    """The last line of what an error says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]
