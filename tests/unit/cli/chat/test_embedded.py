"""A chat whose own model cannot be started says why, in one line."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from toolwire.cli.chat.embedded import embedded_server

pytestmark = pytest.mark.process


def without(package: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide a package from every Python that is started."""
    (folder / f"{package}.py").write_text(f"raise ModuleNotFoundError('no', name='{package}')")
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(folder), *([before] if before else [])])
    monkeypatch.setenv("PYTHONPATH", path)


def test_a_missing_engine_is_the_only_thing_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    without("xllamacpp", tmp_path, monkeypatch)
    with pytest.raises(click.ClickException, match="could not be started"), embedded_server():
        pass
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("Error: The embedded model needs the engine")


def test_a_missing_http_package_is_said_before_a_model_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("httpx2", "xllamacpp"):
        without(package, tmp_path, monkeypatch)
    done = subprocess.run(
        [sys.executable, "-m", "toolwire", "chat", "Hi."],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "Error: httpx2 is not installed. Run: pip install '.[client]' in a clone of Toolwire\n"
    )
