"""What `sayu plan calibrate` has measured: kept in `STORE/calibration-….json`, one a model and machine."""

import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from planner.roofline import Measured
from tasks.files import write_json
from tasks.model import model_fingerprint
from tasks.settings import Settings


class Calibration(BaseModel):
    """What was measured, and on what. `error` is the median of how far the fit is off its trials, as a share; `pause`
    the seconds that a chunk's caller takes around each call."""

    model_config = ConfigDict(frozen=True)
    machine: str
    model: str
    step: float
    prompt: float
    request: float
    answer: float
    context: float
    pause: float
    room: int
    block_size: int
    trials: int
    error: float

    @property
    def clock(self) -> Measured:
        """As the simulator takes it."""
        return Measured(self.step, self.prompt, self.request, self.answer, self.context)


def keep_calibration(calibration: Calibration, settings: Settings) -> None:
    """Leave it where `load_calibration` finds it."""
    write_json(calibration.model_dump(), calibration_file(settings))


def load_calibration(settings: Settings) -> Calibration | None:
    """What was measured of this model on this machine; None where nothing was."""
    try:
        return Calibration.model_validate_json(calibration_file(settings).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def calibration_file(settings: Settings) -> Path:
    """Where it is kept."""
    digest = hashlib.blake2b(f"{describe_machine()}\0{model_fingerprint(settings)}".encode(), digest_size=6)
    return settings.store / f"calibration-{digest.hexdigest()}.json"


def default_batched_tokens(gpu: tuple[str, float] | None) -> int:
    """Tokens a step that vLLM takes if it is not told (engine/arg_utils.py, 0.32); `gpu` is its name and GiB."""
    if gpu is None:
        return 4096
    name, memory = gpu
    return 16384 if memory >= 70 and "a100" not in name.lower() else 8192


def describe_machine() -> str:
    """The processor, its cores, and the GPU where there is one."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    gpu = local_gpu()
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores" + (f", {gpu[0]}" if gpu else "")


def local_gpu() -> tuple[str, float] | None:
    """Name and GiB of this machine's first GPU; None where there is none."""
    if (tool := shutil.which("nvidia-smi")) is None:
        return None
    query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    first = subprocess.run(query, capture_output=True, text=True).stdout.partition("\n")[0]
    name, comma, mib = first.rpartition(", ")
    return (name, float(mib) / 1024) if comma else None
