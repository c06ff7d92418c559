"""A sentence-transformers folder, read with transformers: the encoder, its pooling, rows of length 1.

`modules.json` says what a vector goes through: a Transformer, a Pooling (the folder's own configuration says which),
and perhaps Normalize, which is done in any case. A folder with other modules is refused: without them its vectors
would not be its own.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.errors import ModelError

NAMES_AT_A_TIME = 64  # names are short: more of them gains little on a CPU, and padding grows
# What e5 was trained with, and says only in its README: a text that is compared with its like is a query.
E5 = re.compile(r"(^|[^a-z])e5([^a-z]|$)")
E5_PREFIX = "query: "


class SentenceModel:
    """Names to vectors.

    Raises:
        ModelError: the folder can't be read, or has modules that are not known here.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from transformers import AutoModel, AutoTokenizer

            self._pool = _pooling(folder)
            encoder = folder / _module_path(folder, "Transformer")
            self._prefix = _prefix(folder, _json(encoder / "config.json"))
            limits = encoder / "sentence_bert_config.json"
            self._most_tokens = int((_json(limits).get("max_seq_length") if limits.exists() else None) or 512)
            self._tokenizer: Any = AutoTokenizer.from_pretrained(encoder, local_files_only=True)
            self._model: Any = AutoModel.from_pretrained(encoder, local_files_only=True, dtype="float32").eval()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{folder} can't be used as a sentence-embedding model: {error}",
                "give --embedding-model a sentence-transformers folder that transformers can read",
            ) from error

    def embed(self, names: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row of length 1 a name, float32."""
        import torch

        rows = []
        with torch.inference_mode():
            for start in range(0, len(names), NAMES_AT_A_TIME):
                texts = [self._prefix + name for name in names[start : start + NAMES_AT_A_TIME]]
                given = self._tokenizer(
                    texts, padding=True, truncation=True, max_length=self._most_tokens, return_tensors="pt"
                )
                hidden = self._model(**given).last_hidden_state
                pooled = self._pool(hidden, given["attention_mask"].unsqueeze(-1).to(hidden.dtype))
                rows.append(torch.nn.functional.normalize(pooled, dim=-1).numpy())
        return np.concatenate(rows) if rows else np.empty((0, self._model.config.hidden_size), dtype=np.float32)


def _pooling(folder: Path) -> Any:
    """From hidden states (names, tokens, numbers) and a mask (names, tokens, 1) to one row a name."""
    modules = [str(module["type"]).rpartition(".")[2] for module in _json(folder / "modules.json")]
    if unknown := set(modules) - {"Transformer", "Pooling", "Normalize"}:
        raise ValueError(f"its module {min(unknown)} is not known")
    config = _json(folder / _module_path(folder, "Pooling") / "config.json")
    mode = config.get("pooling_mode") or next(
        (name.removeprefix("pooling_mode_") for name, on in config.items() if on is True and "pooling_mode_" in name),
        "none",
    )
    pools = {
        "mean": lambda hidden, mask: (hidden * mask).sum(1) / mask.sum(1),
        "mean_tokens": lambda hidden, mask: (hidden * mask).sum(1) / mask.sum(1),
        "cls": lambda hidden, mask: hidden[:, 0],
        "cls_token": lambda hidden, mask: hidden[:, 0],
        "max": lambda hidden, mask: hidden.masked_fill(mask == 0, -1e9).amax(1),
        "max_tokens": lambda hidden, mask: hidden.masked_fill(mask == 0, -1e9).amax(1),
    }
    if mode not in pools:
        raise ValueError(f"its pooling {mode} is not known")
    return pools[mode]


def _module_path(folder: Path, kind: str) -> str:
    modules = _json(folder / "modules.json")
    return str(next(module["path"] for module in modules if str(module["type"]).rpartition(".")[2] == kind))


def _prefix(folder: Path, config: dict[str, Any]) -> str:
    """What stands before a name: the folder's own prompt for queries, or e5's."""
    own = folder / "config_sentence_transformers.json"
    prompts = (_json(own).get("prompts") if own.exists() else None) or {}
    named = f"{folder.resolve().name} {config.get('_name_or_path', '')}".lower()
    return str(prompts.get("query") or (E5_PREFIX if E5.search(named) else ""))


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
