"""What a model weighs, from its config.json: parameters, bytes of weights, bytes of KV a token, KV groups.

Weights need not be there; where they are, their files say what they weigh. Counted are the matrices that every token
goes through; norms and biases are a thousandth of them.
"""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from tasks.errors import ModelError

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


class Model(NamedTuple):
    """A decoder."""

    name: str
    layers: int
    sliding_layers: int
    window: int  # tokens that a sliding layer attends to; 0 where there is none
    hidden: int
    parameters: int  # in matrices that every token goes through
    head_parameters: int  # in the matrix to the vocabulary, that only a token with an answer goes through
    weight_bytes: int
    layer_kv_bytes: int  # of one token in one layer
    query_size: int  # heads × head size

    @property
    def groups(self) -> int:
        """KV groups that vLLM makes (v1/core/kv_cache_utils.py): as large as the rarer kind of layer is frequent."""
        return sum(-(-kind // self._group_layers) for kind in self._kinds)

    @property
    def sliding_groups(self) -> int:
        """Of the groups, those with sliding windows."""
        return -(-self.sliding_layers // self._group_layers)

    @property
    def kv_bytes(self) -> int:
        """Of one token in all layers, as vLLM lays them out: its last group of a kind is filled up."""
        return self.groups * self._group_layers * self.layer_kv_bytes

    def kv_bytes_of(self, tokens: int) -> int:
        """Of a sequence: in sliding layers no more than the window is kept."""
        kept = min(tokens, self.window) if self.window else tokens
        return ((self.layers - self.sliding_layers) * tokens + self.sliding_layers * kept) * self.layer_kv_bytes

    @property
    def _kinds(self) -> list[int]:
        return [kind for kind in (self.layers - self.sliding_layers, self.sliding_layers) if kind]

    @property
    def _group_layers(self) -> int:
        fewest, most = min(self._kinds), max(self._kinds)
        return most if most < 1.5 * fewest else fewest


def read_model(folder: Path, dtype: str = "auto") -> Model:
    """The model in a Hugging Face folder.

    Raises:
        ModelError: there is no config.json, or it describes no decoder of the usual kind.
    """
    path = folder / "config.json"
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{folder} holds no readable config.json: {error}", "give --model a Hugging Face model folder"
        ) from error
    try:
        return _model(folder, whole, whole.get("text_config") or whole, dtype)
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ModelError(
            f"{path} describes no decoder that can be planned with: {error} is missing or no number",
            "give --model a decoder such as Gemma 3, Qwen 3 or Llama 3",
        ) from error


def _model(folder: Path, whole: dict[str, Any], config: dict[str, Any], dtype: str) -> Model:
    layers, hidden, heads = (int(config[key]) for key in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
    head_size = int(config.get("head_dim") or hidden // heads)
    kv_heads = int(config.get("num_key_value_heads") or heads)
    attention = hidden * head_size * (2 * heads + 2 * kv_heads)
    parameters = layers * (attention + 3 * hidden * int(config["intermediate_size"]))
    head = hidden * int(config["vocab_size"])
    declared = str(config.get("dtype") or config.get("torch_dtype") or whole.get("torch_dtype") or "bfloat16")
    size = BYTES.get(declared if dtype == "auto" else dtype, 2)
    sliding = _sliding_layers(config, layers)
    return Model(
        name=folder.resolve().name,
        layers=layers,
        sliding_layers=sliding,
        window=int(config["sliding_window"]) if sliding else 0,
        hidden=hidden,
        parameters=parameters,
        head_parameters=head,
        weight_bytes=_weight_bytes(folder, whole, parameters, head, size, 1 + (not config.get("tie_word_embeddings"))),
        layer_kv_bytes=2 * kv_heads * head_size * size,
        query_size=heads * head_size,
    )


def _sliding_layers(config: dict[str, Any], layers: int) -> int:
    if not config.get("sliding_window") or config.get("use_sliding_window") is False:
        return 0
    if kinds := config.get("layer_types"):
        return int(sum(kind == "sliding_attention" for kind in kinds))
    pattern = config.get("sliding_window_pattern") or config.get("_sliding_window_pattern")
    return layers - layers // int(pattern) if pattern else layers


def _weight_bytes(folder: Path, config: dict[str, Any], parameters: int, head: int, size: int, heads: int) -> int:
    files = list(folder.glob("*.safetensors"))
    stored = BYTES.get(str(config.get("dtype") or config.get("torch_dtype")), size)
    if files:
        # weights are stored in one precision and may be run in another; quantised ones are run as they are
        scale = 1.0 if "quantization_config" in config else size / stored
        return math.ceil(sum(file.stat().st_size for file in files) * scale)
    bits = (config.get("quantization_config") or {}).get("bits")
    return int(parameters * (bits / 8 if bits else size) + heads * head * size)
