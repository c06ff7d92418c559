"""Files that are whole or not there: written beside their place, flushed to disk, then renamed over it."""

import json
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from tasks.errors import StoreError

# What `replacing` writes to, and what DuckDB keeps beside a file that it writes: a killed writer leaves them.
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp(\.wal)?")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what to do where a file can't be written.

    Raises:
        StoreError: the folder can't be written to or the disk is full.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} can't be written: {error.strerror or error}",
            "give --store a folder that you may write to, with room on its disk",
        ) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to; when the block ends well, what was written takes the place of `path` at once.

    Raises:
        StoreError: the folder can't be written to or the disk is full. The file stays as it was.
    """
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield beside
            _flush(beside)
            beside.replace(path)
            _flush(path.parent)
    finally:
        for left in (beside, beside.with_name(f"{beside.name}.wal")):  # the second is DuckDB's
            left.unlink(missing_ok=True)


def write_parquet(frame: pl.DataFrame, path: Path, row_group_size: int | None = None) -> None:
    """Write a frame as one Parquet file, whole or not at all."""
    with replacing(path) as beside:
        try:
            frame.write_parquet(beside, compression="zstd", row_group_size=row_group_size)
        except pl.exceptions.ComputeError as error:  # what polars raises on a full disk
            raise OSError(str(error).rpartition("IO error: ")[2]) from error


def write_json(value: Any, path: Path) -> None:
    """Write a value as indented JSON, whole or not at all."""
    with replacing(path) as beside:
        beside.write_text(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n", encoding="utf-8")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
