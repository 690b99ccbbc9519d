"""Every command of the README and the documentation is run, as it is written there.

A command that neither this table nor that of the foreign programs knows fails.
"""

import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.e2e.conform.obedient import obedient
from tests.e2e.embedded.commands import foreign
from tests.e2e.embedded.commands.pages import ROOT, Command, blocks, commands, inline
from tests.e2e.embedded.commands.stage import Stage
from tests.e2e.gateway.process import Gateway, running
from tests.scripted import ScriptedServer

from toolwire.cli import main

pytestmark = pytest.mark.process
COMMANDS = commands()
LANGUAGES = {"sh", "text", "python", "json", "toml", "yaml", "ini", "js"}
OURS: dict[str, Callable[[Stage, Command], object]] = {
    "make serve": Stage.serve,
    "make test": Stage.collect,
    "make ": Stage.plan,
    "toolwire serve": Stage.serve,
    "toolwire conform --endpoint": Stage.examine,
    "toolwire ": Stage.run,
    "curl ": Stage.run,
    "pip install": Stage.install,
    "pipx install": Stage.install,
    "uv tool install": Stage.install,
    "pytest --toolwire-parser": Stage.run,
    "pytest tests": Stage.collect,
    "python benchmarks/": Stage.offers,
    "python -m tests.": Stage.exists,
}


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    with ScriptedServer(script=obedient) as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire in front of a server, which has traced one request."""
    flags = ("--sessions", "memory", "--trace-dir", "traces", "--trace-bodies")
    with running("--upstream", backend.url, *flags) as process:
        body = b'{"model": "m", "messages": [{"role": "user", "content": "Hello."}]}'
        urllib.request.urlopen(f"{process.url}/chat/completions", body, timeout=30).close()
        yield process


@pytest.fixture
def stage(
    tmp_path: Path, backend: ScriptedServer, gateway: Gateway, served: Gateway, weights: Path
) -> Stage:
    roots = (process.url.removesuffix("/v1") for process in (gateway, served))
    made = Stage(tmp_path, backend.url, *roots)
    made.build(weights, gateway.folder / "traces")
    return made


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_command_of_the_documentation_runs(command: Command, stage: Stage) -> None:
    ours = [act for start, act in OURS.items() if command.text.startswith(start)]
    if any(command.text.startswith(start) for start in foreign.PROGRAMS):
        foreign.check(command, stage)
    else:
        assert ours, f"{command.page}: nothing is known about this command"
        ours[0](stage, command)


def test_the_readme_begins_with_what_a_newcomer_types() -> None:
    assert COMMANDS[0].text == "make serve"
    assert len(COMMANDS) > 50


def test_every_block_says_what_it_is() -> None:
    """So that no command hides in a block that is not read as commands."""
    kinds = {(b.page, b.language.partition(" ")[0]) for b in blocks()}
    assert sorted((page, kind) for page, kind in kinds if kind not in LANGUAGES) == []


def help_of(command: str) -> str:
    return CliRunner().invoke(main, [command, "--help"]).output


@pytest.mark.parametrize("text", inline())
def test_a_command_within_a_sentence_exists(text: str) -> None:
    words = shlex.split(text)
    if words[0] == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words[1] in targets
    elif words[0] == "toolwire":
        options = [word for word in words if word.startswith("-")]
        shown = help_of(words[1])
        assert [option for option in options if option not in shown] == []
    else:
        assert words[-1].startswith("."), "there is nothing to install from an index"


def test_a_virtual_environment_without_pip_is_not_taken_for_a_finished_one(tmp_path: Path) -> None:
    """As with Debian's Python without python3-venv, which makes one, complains, and fails."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    for name in ("pyproject.toml", "requirements/serve.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n[ $1 = -c ] && exit 0\nmkdir -p .venv/bin\n"
        f"ln -sf {sys.executable} .venv/bin/python\n"
        "echo ensurepip is not available >&2\nexit 1\n"
    )
    python.chmod(0o755)
    for _ in range(2):
        done = subprocess.run(
            ["make", "serve", f"PYTHON={python}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "ensurepip is not available" in done.stderr


def test_a_clean_removes_what_the_targets_made(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    made = (".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", "build", "src/__pycache__")
    for name in made:
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "toolwire.toml").touch()
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "src", "toolwire.toml"]
