"""A model with INT4 weights to measure with: `python -m benchmarks.quantise MODEL FOLDER`.

Every linear layer of the transformer is rounded to the nearest of 16 steps, in groups of inputs with a scale of their
own, and saved in GPTQ's layout, which vLLM runs on CPUs and GPUs. No calibration: GPTQ and AWQ choose their steps by
what the layer sees, and lose less. Good for measuring what 4-bit weights do to speed and memory, not to quality;
`sayu bench --quantised FOLDER` says how far the answers move.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import click

GROUP = 64  # inputs that share a scale: divides the layer sizes of the models that are measured
PER_WORD = 8  # 4-bit steps in an int32
ZERO = 8  # the step that stands for 0


@click.command()
@click.argument("model", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("folder", type=click.Path(path_type=Path))
def main(model: Path, folder: Path) -> None:
    """Write MODEL with INT4 weights to FOLDER."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    weights = load_file(model / "model.safetensors")
    tensors: dict[str, Any] = {}
    for name, weight in weights.items():
        if name.endswith("_proj.weight"):
            layer = name.removesuffix(".weight")
            tensors |= {f"{layer}.{part}": tensor for part, tensor in quantise(weight).items()}
        else:
            tensors[name] = weight
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = {
        "quant_method": "gptq", "bits": 4, "group_size": GROUP, "sym": True, "desc_act": False, "lm_head": False,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    before, after = ((path / "model.safetensors").stat().st_size / 2**20 for path in (model, folder))
    click.echo(f"{folder}: {after:.0f} MiB of weights, {before:.0f} before")


def quantise(weight: Any) -> dict[str, Any]:
    """A weight matrix (outputs, inputs) as GPTQ stores it.

    `qweight` (inputs / 8, outputs) holds eight steps an int32, lowest bits first; `scales` (groups, outputs);
    `qzeros` the zero step less one, as GPTQ's first format has it; `g_idx` the group of each input.
    """
    import torch

    outputs, inputs = weight.shape
    groups = weight.float().reshape(outputs, inputs // GROUP, GROUP)
    scales = groups.abs().amax(dim=2).clamp(min=1e-8) / (ZERO - 1)
    steps = (groups / scales.unsqueeze(2)).round().clamp(-ZERO, ZERO - 1) + ZERO
    steps = steps.reshape(outputs, inputs).t().to(torch.int64)
    shifts = 4 * torch.arange(PER_WORD)
    words = (steps.reshape(inputs // PER_WORD, PER_WORD, outputs) << shifts.view(1, -1, 1)).sum(dim=1)
    zeros = torch.full((inputs // GROUP, outputs // PER_WORD), 0x77777777, dtype=torch.int32)
    return {
        "qweight": (words - (words >= 2**31) * 2**32).to(torch.int32).contiguous(),
        "scales": scales.t().to(weight.dtype).contiguous(),
        "qzeros": zeros,
        "g_idx": (torch.arange(inputs) // GROUP).to(torch.int32),
    }


if __name__ == "__main__":
    main()
