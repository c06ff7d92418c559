"""What `sayu plan` was asked for, beside the settings."""

from pathlib import Path
from typing import NamedTuple


class Asked(NamedTuple):
    """The options of the command, under their names; None: not given."""

    ds: str | None = None
    pairs: int | None = None
    prompt_tokens: int | None = None
    shared_tokens: int | None = None
    text_tokens: float | None = None
    write_share: float | None = None
    room: int | None = None
    gpu: str | None = None
    hardware: Path | None = None
    gpus: int = 8
    link_gb: float | None = None
    price_per_hour: float | None = None
    by: str | None = None
    start: str | None = None
    workers: int | None = None
    token_ms: float | None = None
    pass_rate: float | None = None
    tries: int = 4
    large_model: Path | None = None
    large_pass_rate: float | None = None
    html: Path | None = None
