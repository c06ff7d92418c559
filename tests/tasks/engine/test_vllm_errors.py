"""An engine that can't be loaded says which setting to change."""

import re

import pytest

from tasks.engine.vllm_errors import way_out
from tasks.settings import Settings

# As vLLM and torch say it.
SAID = {
    "Available memory on node 0 (18.3/21.6 GiB) on kv cache allocation is less than requested memory for kv "
    "(10000.0 GiB).": r"lower kv_cache_gib \(now 10000\)",
    "Free memory on device cuda:0 (3.1/22.0 GiB) on startup is less than desired GPU memory utilization":
    r"lower gpu_memory_utilization \(now 0.9\)",
    "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine":
    r"raise gpu_memory_utilization \(now 0.9\)",
    "To serve at least one request with the model's max seq len (4096), (9.0 GiB KV cache is needed":
    r"lower max_model_len \(now 4096\)",
    "CUDA out of memory. Tried to allocate 2.00 GiB.": r"lower gpu_memory_utilization .* max_num_seqs \(now 256\)",
    "config.json is not there": "--engine transformers",
}  # fmt: skip


@pytest.mark.parametrize(("said", "todo"), SAID.items())
def test_the_way_out_names_the_setting_and_its_value(said: str, todo: str) -> None:
    settings = Settings(kv_cache_gib=10_000, max_model_len=4096)
    assert re.search(todo, way_out(settings, said))
