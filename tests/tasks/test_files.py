"""Files are whole or not there."""

import resource
from pathlib import Path

import polars as pl
import pytest

from tasks.errors import StoreError
from tasks.files import replacing, write_json, write_parquet


def test_a_block_that_fails_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json({"day": "old"}, path)
    with pytest.raises(ZeroDivisionError), replacing(path) as beside:
        beside.write_text("half", encoding="utf-8")
        raise ZeroDivisionError
    assert "old" in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made_as_needed(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1]})
    write_parquet(frame, tmp_path / "b" / "c.parquet")
    assert pl.read_parquet(tmp_path / "b" / "c.parquet").equals(frame)


def test_no_room_on_the_disk_says_so_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json({"day": "old"}, path)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(StoreError, match=r"can't be written.*with room on its disk"):
            write_json({"day": "new" * 1_000}, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert "old" in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]
