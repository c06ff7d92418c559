"""The vectors of names, each computed once and kept.

`STORE/vectors/<fingerprint of the embedding model>` holds Parquet files (records.VECTORS), written beside and renamed,
read as one. Many writers need no lock: two that meet the same name write the same vector. A file that can't be read is
removed, and what it held is computed anew.
"""

import hashlib
import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tasks.embedding import Vectors, embedding_fingerprint, load_embedder
from tasks.files import write_parquet
from tasks.records import VECTORS, conform
from tasks.settings import Settings

logger = logging.getLogger("sayu")

# Half a minute's work on two cores: all that a crash loses.
NAMES_A_FILE = 4096


def name_vectors(names: Sequence[str], settings: Settings) -> Vectors:
    """One row a name, in the names' order, float32, each of length 1; those that are not kept yet are computed.

    Names that stand there twice cost their room twice.

    Raises:
        ModelError: the embedding model can't be used.
        StoreError: the store can't be written.
    """
    folder = settings.store / "vectors" / embedding_fingerprint(settings)
    wanted = pl.DataFrame({"name": sorted(set(names))}, schema={"name": pl.String})
    kept = [
        rows.join(wanted, on="name", how="semi") for file in sorted(folder.glob("*.parquet")) for rows in _read(file)
    ]
    held = pl.concat([VECTORS.to_frame(), *kept]).unique("name", keep="first", maintain_order=True)
    missing = wanted.join(held, on="name", how="anti", maintain_order="left")
    computed = [_compute(rows["name"].to_list(), folder, settings) for rows in missing.iter_slices(NAMES_A_FILE)]
    rows = pl.DataFrame({"name": names}, schema={"name": pl.String}).join(
        pl.concat([held, *computed]), on="name", how="left", maintain_order="left"
    )
    numbers = rows["vector"].explode(empty_as_null=False).to_numpy()
    return numbers.reshape(rows.height, -1) if rows.height else np.empty((0, 0), dtype=np.float32)


def _compute(names: list[str], folder: Path, settings: Settings) -> pl.DataFrame:
    """The vectors of names, computed and kept (records.VECTORS)."""
    start = time.perf_counter()
    vectors = load_embedder(settings).embed(names)
    rows = pl.DataFrame({"name": names, "vector": vectors}).pipe(conform, VECTORS)
    held = hashlib.blake2b("\x00".join(names).encode(), digest_size=8).hexdigest()
    write_parquet(rows, folder / f"{held}.parquet")
    logger.info("%-9s %s new names embedded (%.1f s)", "rank", f"{len(names):,}", time.perf_counter() - start)
    return rows


def _read(file: Path) -> Iterator[pl.DataFrame]:
    """The file's rows; nothing where it is gone or was damaged."""
    try:
        yield pl.read_parquet(file).pipe(conform, VECTORS)
    except FileNotFoundError:
        return
    except pl.exceptions.PolarsError as error:
        logger.warning("%s is damaged (%s): its names are embedded anew", file, str(error).splitlines()[0])
        file.unlink(missing_ok=True)
