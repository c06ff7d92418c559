"""`sayu plan` as it is typed: the page, JSON, the HTML page, and what bad input gets."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from flows.__main__ import cli
from tasks.errors import SayuError
from tests.planner.models import GEMMA_4B, LLAMA_8B, folder

FIGURES = ("--prompt-tokens", "153", "--shared-tokens", "73", "--room", "8000", "--pairs", "600", "--gpu", "L4")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return folder(tmp_path / "gemma", GEMMA_4B)


def plan(model: Path, *arguments: str) -> Result:
    store = str(model.parent / "store")
    return CliRunner().invoke(cli, ["plan", "--model", str(model), "--store", store, *arguments])


def planned(model: Path, *arguments: str) -> dict[str, Any]:
    result = plan(model, *FIGURES, *arguments, "--json")
    if result.exception:
        raise result.exception
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def test_made_up_prompts_need_a_config_and_nothing_else(model: Path) -> None:
    made = planned(model, "--write-share", "1.0")
    by_name = {one["name"]: one for one in made["predictions"]}
    assert list(by_name) == ["fused", "chunked", "full", "full, no cache"]
    assert made["order"] == "fused"
    assert set(made["settings"]) == {"chunks_in_flight", "chunk_pairs", "max_num_seqs", "max_num_batched_tokens"}
    assert made["settings"]["max_num_batched_tokens"] == 8192  # vLLM's own for this GPU
    assert by_name["full"]["computed"] > by_name["chunked"]["computed"] > by_name["fused"]["computed"]
    assert by_name["chunked"]["generate_cached_share"] > 0.9 > by_name["full"]["generate_cached_share"]
    assert by_name["full, no cache"]["decide"]["cached"] == 0
    assert made["cost"]["seconds"] == by_name["fused"]["seconds"]
    assert made["layouts"]["advice"].startswith("Splitting prefill from decode: don't.")
    assert made["offload"]["lost"] == by_name["full"]["decide"]["evicted"] + by_name["full"]["generate"]["evicted"]


def test_the_fixed_text_is_cheapest_at_a_block_border(model: Path) -> None:
    fixed = {one["tokens"]: one for one in planned(model)["fixed"]}
    assert fixed[0]["left_over"] == 9
    assert fixed[7]["left_over"] == fixed[-9]["left_over"] == 0
    assert fixed[7]["computed"] < fixed[0]["computed"]
    assert fixed[7]["seconds"] < fixed[0]["seconds"]


def test_money_and_workers_are_said(model: Path) -> None:
    made = planned(model, "--price-per-hour", "0.8", "--start", "04:30", "--by", "06:00")
    assert made["workers"]["number"] == 1
    assert made["cost"]["money"] == pytest.approx((made["cost"]["seconds"] + made["cost"]["around"]) / 3600 * 0.8)


def test_tries_are_compared_only_with_a_pass_rate(model: Path, tmp_path: Path) -> None:
    assert planned(model)["retries"] == []
    large = folder(tmp_path / "large", GEMMA_4B | {"num_hidden_layers": 48, "hidden_size": 3840})
    tried = planned(model, "--pass-rate", "0.8", "--large-model", str(large), "--large-pass-rate", "0.95")["retries"]
    assert [one["times"] for one in tried] == [1, 2, 3, 4]
    assert tried[1]["pass_share"] == pytest.approx(0.96)
    assert tried[1]["cost"] < tried[1]["large_cost"]


def test_the_page_and_the_html_say_the_same_and_the_html_needs_no_net(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    result = plan(model, *FIGURES, "--room", "65000", "--html", str(page))
    assert result.exit_code == 0, result.output
    html = page.read_text(encoding="utf-8")
    assert "recommended     order fused" in result.stdout
    assert "order fused" in html
    assert html.count("<svg") == 2
    assert "<script" not in html
    assert "src=" not in html


def test_a_date_of_the_shop_is_planned_from_its_real_prompts(tmp_path: Path) -> None:
    """With the demo model's tokenizer; the number of pairs stands for a date's."""
    from tasks.settings import HOME

    arguments = ("--pairs", "40", "--gpu", "L4", "--json")
    result = plan(HOME / "demo" / "model", "--store", str(tmp_path / "store"), *arguments)
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    assert made["predictions"][0]["decide"]["requests"] == 40
    assert made["predictions"][0]["floor"] < made["predictions"][0]["decide"]["prompt"]
    assert not (tmp_path / "store").exists()  # nothing is written


def error(model: Path, *arguments: str) -> SayuError:
    raised = plan(model, *arguments).exception
    assert isinstance(raised, SayuError), raised
    return raised


def test_a_model_folder_without_a_config_is_said(tmp_path: Path) -> None:
    assert "config.json" in error(folder(tmp_path / "x", {}).parent, *FIGURES).what


def test_an_unknown_gpu_is_said(model: Path) -> None:
    assert "L5" in error(model, *FIGURES[:-1], "L5").what


def test_a_model_that_does_not_fit_says_by_how_much_and_what_would(tmp_path: Path) -> None:
    large = folder(tmp_path / "large", LLAMA_8B | {"num_hidden_layers": 60, "hidden_size": 6144})
    said = error(large, *FIGURES)
    assert "GiB too few" in said.what
    assert "H200" in said.todo


def test_a_deadline_that_cannot_be_met_says_with_how_many_workers_it_could(model: Path) -> None:
    many = ("--prompt-tokens", "4000", "--shared-tokens", "10", "--room", "65000", "--pairs", "150", "--gpu", "L4")
    said = error(model, *many, "--start", "05:58", "--by", "06:00", "--workers", "1")
    assert "1 worker(s)" in said.what
    assert "workers could" in said.todo


def test_prompts_that_share_more_than_they_have_are_said(model: Path) -> None:
    assert "can't share" in error(model, "--prompt-tokens", "50", "--shared-tokens", "50", "--gpu", "L4").what
