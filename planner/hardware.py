"""GPUs to plan with: `hardware.toml` beside this file, and the user's own of the same form."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.errors import UsageError

KNOWN = Path(__file__).with_name("hardware.toml")


class Gpu(BaseModel):
    """One GPU. `compute_share` and `bandwidth_share` are what an engine really gets of the peaks."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    tflops: float = Field(gt=0)  # dense, 16 bit
    bandwidth_gb: float = Field(gt=0)  # GB/s
    memory_gib: float = Field(gt=0)
    link_gb: float = Field(gt=0)  # GB/s to another GPU
    host_gb: float = Field(gt=0)  # GB/s to the host's memory
    source: str
    # 10,000 prompts of 153 tokens took an L4 211 s with a 16-bit Gemma 3 4B: 0.38 of its peak. Matrices of a larger GPU
    # reach more only with longer steps.
    compute_share: float = Field(0.4, gt=0, le=1)
    # Weights are read at 0.7 to 0.9 of the peak by current kernels.
    bandwidth_share: float = Field(0.8, gt=0, le=1)
    # To schedule, to launch and to sample, once a step.
    step_ms: float = Field(4.0, ge=0)

    @property
    def flops(self) -> float:
        """Operations a second that an engine gets."""
        return self.tflops * 1e12 * self.compute_share

    @property
    def bandwidth(self) -> float:
        """Bytes a second that an engine gets from the GPU's memory."""
        return self.bandwidth_gb * 1e9 * self.bandwidth_share


def read_gpus(own: Path | None = None) -> dict[str, Gpu]:
    """All known GPUs by name; those of the file `own` are stronger.

    Raises:
        UsageError: a file is no TOML, or an entry lacks something.
    """
    gpus: dict[str, Gpu] = {}
    for path in [KNOWN, own] if own else [KNOWN]:
        try:
            entries = tomllib.loads(path.read_text(encoding="utf-8"))
            gpus |= {name: Gpu(name=name, **entry) for name, entry in entries.items()}
        except (OSError, tomllib.TOMLDecodeError, ValidationError, TypeError) as error:
            raise UsageError(f"{path} describes no GPUs: {error}", f"write it like {KNOWN}") from error
    return gpus


def find_gpu(name: str, own: Path | None = None) -> Gpu:
    """The GPU of that name.

    Raises:
        UsageError: it is not known.
    """
    gpus = read_gpus(own)
    found = {known.lower(): gpu for known, gpu in gpus.items()}.get(name.lower())
    if found is None:
        raise UsageError(f"the GPU {name} is unknown", f"give one of {', '.join(gpus)}, or your own with --hardware")
    return found
