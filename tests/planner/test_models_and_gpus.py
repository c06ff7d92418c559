"""What a model weighs, what a GPU does, and whether the one fits the other."""

from pathlib import Path

import pytest

from planner.hardware import find_gpu, read_gpus
from planner.model_config import read_model
from planner.roofline import Roofline, does_not_fit
from tasks.errors import ModelError, UsageError
from tasks.settings import HOME
from tests.planner.models import GEMMA_4B, LLAMA_8B, folder


def test_a_models_parameters_are_counted_from_its_config(tmp_path: Path) -> None:
    model = read_model(folder(tmp_path, LLAMA_8B))
    embeddings = 2 * model.head_parameters
    assert model.parameters + embeddings == pytest.approx(8.03e9, rel=0.01)
    assert model.weight_bytes == pytest.approx(16.06e9, rel=0.01)
    assert model.kv_bytes == 131_072  # 2 × 32 layers × 8 heads × 128 × 2 bytes
    assert model.groups == 1


def test_weights_that_are_there_say_what_they_weigh() -> None:
    model = read_model(HOME / "demo" / "model")
    assert model.weight_bytes == sum(file.stat().st_size for file in (HOME / "demo" / "model").glob("*.safetensors"))
    assert read_model(HOME / "demo" / "model", "float32").weight_bytes == 2 * model.weight_bytes


def test_sliding_windows_hold_no_more_than_the_window_and_make_kv_groups(tmp_path: Path) -> None:
    model = read_model(folder(tmp_path, GEMMA_4B))
    assert (model.layers, model.sliding_layers) == (34, 29)
    assert model.groups == 7  # 29 and 5 layers, in groups of 5
    assert model.kv_bytes == 35 * model.layer_kv_bytes  # the last group is filled up
    assert model.kv_bytes_of(100) == 34 * 100 * model.layer_kv_bytes
    assert model.kv_bytes_of(5000) == (29 * 1024 + 5 * 5000) * model.layer_kv_bytes
    assert read_model(HOME / "demo" / "model").groups == 4


def test_windows_that_are_switched_off_count_as_none(tmp_path: Path) -> None:
    model = read_model(folder(tmp_path, LLAMA_8B | {"sliding_window": 4096, "use_sliding_window": False}))
    assert (model.sliding_layers, model.window) == (0, 0)


def test_quantised_weights_weigh_less(tmp_path: Path) -> None:
    plain = read_model(folder(tmp_path / "16", LLAMA_8B))
    quantised = read_model(folder(tmp_path / "4", LLAMA_8B | {"quantization_config": {"bits": 4}}))
    assert quantised.weight_bytes < 0.4 * plain.weight_bytes


def test_a_folder_without_a_config_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no readable config\.json"):
        read_model(tmp_path)


@pytest.mark.parametrize("missing", ["num_hidden_layers", "vocab_size", "intermediate_size"])
def test_a_config_of_something_else_is_said(tmp_path: Path, missing: str) -> None:
    config = {name: value for name, value in LLAMA_8B.items() if name != missing}
    with pytest.raises(ModelError, match=missing):
        read_model(folder(tmp_path, config))


def test_every_gpu_has_its_source() -> None:
    assert {"L4", "A100", "H100", "H200"} <= set(read_gpus())
    assert all(gpu.source.startswith("https://") for gpu in read_gpus().values())


def test_an_unknown_gpu_is_said_with_those_that_are_known() -> None:
    with pytest.raises(UsageError) as raised:
        find_gpu("L5")
    assert "L5" in raised.value.what
    assert "L4" in raised.value.todo


def test_ones_own_gpu_may_be_added(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    numbers = "tflops = 100\nbandwidth_gb = 500\nmemory_gib = 32\nlink_gb = 32\nhost_gb = 32\n"
    own.write_text(f'[Mine]\n{numbers}source = "measured"\n', encoding="utf-8")
    assert find_gpu("mine", own).flops == 100e12 * 0.4
    own.write_text("[Mine]\ntflops = -1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="describes no GPUs"):
        find_gpu("Mine", own)


def test_the_room_beside_the_weights_is_about_what_an_l4_had(tmp_path: Path) -> None:
    """65,000 tokens there, with a model a little larger than its language part."""
    room = Roofline(read_model(folder(tmp_path, GEMMA_4B)), find_gpu("L4")).room()
    assert 55_000 < room < 90_000


def test_a_model_that_does_not_fit_says_by_how_much_and_what_would(tmp_path: Path) -> None:
    large = {"num_hidden_layers": 60, "hidden_size": 6144, "intermediate_size": 24576, "num_attention_heads": 48}
    roofline = Roofline(read_model(folder(tmp_path, LLAMA_8B | large)), find_gpu("L4"))
    assert not roofline.fits()
    with pytest.raises(ModelError, match="GiB too few"):
        roofline.room()
    error = does_not_fit(roofline, 0.9, tuple(read_gpus().values()))
    assert "H200" in error.todo
    assert "L4 together" in error.todo


def test_a_step_costs_more_with_more_to_do(tmp_path: Path) -> None:
    clock = Roofline(read_model(folder(tmp_path, LLAMA_8B)), find_gpu("H100"))
    assert clock(0, 0, 1, 100) == pytest.approx(clock(0, 0, 8, 800), rel=0.05)  # weights are read once for all
    assert clock(0, 0, 256, 256 * 1000) > 1.5 * clock(0, 0, 1, 1000)  # but everybody's KV is read
    assert clock(8192, 0, 0, 0) > 7 * clock(1024, 0, 0, 0) * 0.9
    two = clock._replace(gpus=2)
    assert clock(8192, 0, 0, 0) / 2 < two(8192, 0, 0, 0) < clock(8192, 0, 0, 0)  # all-reduces cost something
