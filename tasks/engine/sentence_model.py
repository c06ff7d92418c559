"""A sentence-transformers folder, read with transformers: the encoder, its pooling, rows of length 1.

`modules.json` says what a vector goes through: a Transformer, a Pooling (the folder's own configuration says which),
and perhaps Normalize, which is done in any case. A folder with other modules is refused: without them its vectors
would not be its own.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.engine import alone
from tasks.errors import ModelError

NAMES_AT_A_TIME = 64  # names are short: more of them gains little on a CPU, and padding grows
# What e5 was trained with, and says only in its README: a text that is compared with its like is a query.
E5 = re.compile(r"(^|[^a-z])e5([^a-z]|$)")
E5_PREFIX = "query: "


TODO = "give --embedding-model a sentence-transformers folder that transformers can read"


class SentenceModel:
    """Names to vectors.

    Raises:
        ModelError: the folder can't be read, or has modules that are not known here.
    """

    def __init__(self, folder: Path) -> None:
        self._pool = _POOLS[read_pooling(folder)]
        encoder = folder / _module(folder, "Transformer")
        try:
            with alone():
                from transformers import AutoModel, AutoTokenizer

                self._tokenizer: Any = AutoTokenizer.from_pretrained(encoder, local_files_only=True)
                self._model: Any = AutoModel.from_pretrained(encoder, local_files_only=True, dtype="float32").eval()
            self._prefix = _prefix(folder, _json(encoder / "config.json"))
            limits = encoder / "sentence_bert_config.json"
            self._most_tokens = int((_json(limits).get("max_seq_length") if limits.exists() else None) or 512)
        except Exception as error:  # there is no end to what a broken folder makes the libraries raise
            raise ModelError(f"{folder} can't be used as a sentence-embedding model: {error}", TODO) from error

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


# From hidden states (names, tokens, numbers) and a mask (names, tokens, 1) to one row a name.
_POOLS: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda hidden, mask: (hidden * mask).sum(1) / mask.sum(1),
    "cls": lambda hidden, mask: hidden[:, 0],
    "max": lambda hidden, mask: hidden.masked_fill(mask == 0, -1e9).amax(1),
}


def read_pooling(folder: Path) -> str:
    """How the folder makes one vector of many: a name in `_POOLS`. Reads two small files, no weights.

    Raises:
        ModelError: the folder has no such module, or modules or a pooling that are not known here.
    """
    try:
        kinds = {_kind(module) for module in _json(folder / "modules.json")}
        if unknown := kinds - {"Transformer", "Pooling", "Normalize"}:
            raise ValueError(f"its module {min(unknown)} is not known")
        config = _json(folder / _module(folder, "Pooling") / "config.json")
        modes = [name.removeprefix("pooling_mode_") for name, on in config.items() if on is True]
        mode = str(config.get("pooling_mode") or ", ".join(modes)).removesuffix("_tokens").removesuffix("_token")
        if mode not in _POOLS:
            raise ValueError(f"its pooling {mode} is not known")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder} can't be used as a sentence-embedding model: {error}", TODO) from error
    return mode


def _module(folder: Path, kind: str) -> str:
    """The path of a module, relative to the folder."""
    for module in _json(folder / "modules.json"):
        if _kind(module) == kind:
            return str(module["path"])
    raise ValueError(f"it has no module {kind}")


def _kind(module: dict[str, Any]) -> str:
    return str(module["type"]).rpartition(".")[2]


def _prefix(folder: Path, config: dict[str, Any]) -> str:
    """What stands before a name: the folder's own prompt for queries, or e5's."""
    own = folder / "config_sentence_transformers.json"
    prompts = (_json(own).get("prompts") if own.exists() else None) or {}
    named = f"{folder.resolve().name} {config.get('_name_or_path', '')}".lower()
    return str(prompts.get("query") or (E5_PREFIX if E5.search(named) else ""))


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
