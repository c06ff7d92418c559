"""Model folders of a config.json alone."""

import json
from pathlib import Path
from typing import Any

# The published measures of a Gemma 3 4B's language part, and of a Llama 3 8B.
GEMMA_4B = {
    "num_hidden_layers": 34, "hidden_size": 2560, "intermediate_size": 10240, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208, "sliding_window": 1024,
    "_sliding_window_pattern": 6, "tie_word_embeddings": True, "dtype": "bfloat16",
}  # fmt: skip
LLAMA_8B = {
    "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False, "dtype": "bfloat16",
}  # fmt: skip


def folder(path: Path, config: dict[str, Any]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return path
