"""What identifies a model: the files of its folder, and how they are run."""

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from tasks.errors import ModelError
from tasks.settings import Settings

# Files that can change an answer: weights, architecture, defaults of generation, tokenizer and chat template.
FINGERPRINTED = ("*.safetensors", "*.bin", "config.json", "generation_config.json", "tokenizer*", "chat_template*")


def model_fingerprint(settings: Settings) -> str:
    """`name-` and 16 hex digits over the model's files and the precision it runs in.

    An answer that was replayed is not the model's own, so a recording has a fingerprint of its own.

    Raises:
        ModelError: the folder is missing or holds no model.
    """
    files = model_files(settings.model)
    if settings.recording is not None:
        files = (*files, settings.recording)
    stamps = tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return f"{settings.model.resolve().name}-{_digest(stamps, settings.dtype)}"


def model_files(folder: Path) -> tuple[Path, ...]:
    """The files of a Hugging Face model folder that the fingerprint covers, sorted by name."""
    todo = "give --model a Hugging Face model folder (config.json, tokenizer.json and *.safetensors)"
    if not folder.is_dir():
        raise ModelError(f"the model folder {folder} does not exist", todo)
    try:
        json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder} holds no readable config.json: {error}", todo) from error
    files = tuple(sorted({path for pattern in FINGERPRINTED for path in folder.glob(pattern)}))
    if not any(path.suffix in {".safetensors", ".bin"} for path in files):
        raise ModelError(f"{folder} holds no weights", todo)
    return files


@lru_cache(maxsize=8)
def _digest(stamps: tuple[tuple[Path, int, int], ...], dtype: str) -> str:
    """Over the contents; sizes and times only say whether a file has to be read again in this process."""
    digest = hashlib.blake2b(dtype.encode(), digest_size=8)
    for path, _, _ in stamps:
        digest.update(path.name.encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
