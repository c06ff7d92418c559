"""A sentence-transformers folder: a tiny encoder with random weights, made here, in the form that such folders have."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from tasks.embedding import load_embedder
from tasks.errors import ModelError
from tasks.settings import Settings

WORDS = ["[PAD]", "[UNK]", "query", ":", "두부", "된장", "찌개", "우유"]
MODULES = ["Transformer", "Pooling", "Normalize"]


def make_folder(
    folder: Path, pooling: dict[str, Any], modules: list[str] = MODULES, prompts: dict[str, str] | None = None
) -> Path:
    torch.manual_seed(0)
    sizes: Any = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    encoder: Any = BertModel
    tokenizer: Any = PreTrainedTokenizerFast
    encoder(BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **sizes)).save_pretrained(folder)
    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace()])
    tokenizer(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    listed = [{"type": f"sentence_transformers.models.{name}", "path": paths.get(name, name)} for name in modules]
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    if prompts is not None:
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}), encoding="utf-8")
    return folder


MEAN = {"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
CLS = {"word_embedding_dimension": 16, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}


def embed(folder: Path, *names: str) -> Any:
    return load_embedder(Settings(embedding_model=folder)).embed(names)


def hidden(folder: Path, text: str) -> Any:
    """What the encoder says of each token, read without the code that is tested."""
    ids = [WORDS.index(word) for word in text.split()]
    with torch.inference_mode():
        return BertModel.from_pretrained(folder)(torch.tensor([ids])).last_hidden_state[0].numpy()


def test_a_vector_is_the_mean_of_its_tokens_with_the_length_1(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", MEAN)
    mean = hidden(folder, "두부 된장 찌개").mean(axis=0)
    assert embed(folder, "두부 된장 찌개")[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_a_vector_is_what_the_folder_says_its_pooling_is(tmp_path: Path) -> None:
    configs: list[dict[str, Any]] = [CLS, {"pooling_mode": "cls"}]
    for number, pooling in enumerate(configs):
        folder = make_folder(tmp_path / f"m{number}", pooling)
        first = hidden(folder, "두부 된장")[0]
        assert embed(folder, "두부 된장")[0] == pytest.approx(first / np.linalg.norm(first), abs=1e-5)


def test_the_names_beside_it_do_not_change_a_vector(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", MEAN)
    names = ["두부", "두부 된장 찌개 우유 두부", *["우유"] * 100]
    assert embed(folder, *names)[0] == pytest.approx(embed(folder, "두부")[0], abs=1e-5)
    assert embed(folder, *names).shape == (102, 16)


@pytest.mark.parametrize(
    ("name", "prompts"),
    [("multilingual-e5-small-ko", None), ("multilingual-e5-small-ko", {}), ("other", {"query": "query : "})],
)
def test_what_stands_before_a_name_is_the_folders_own_or_e5s(
    tmp_path: Path, name: str, prompts: dict[str, str] | None
) -> None:
    folder = make_folder(tmp_path / name, MEAN, prompts=prompts)
    mean = hidden(folder, "query : 두부").mean(axis=0)
    assert embed(folder, "두부")[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_a_module_or_a_pooling_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="module Dense is not known"):
        embed(make_folder(tmp_path / "dense", MEAN, [*MODULES, "Dense"]), "두부")
    with pytest.raises(ModelError, match="pooling weightedmean is not known"):
        embed(make_folder(tmp_path / "weighted", {"pooling_mode_weightedmean_tokens": True}), "두부")
