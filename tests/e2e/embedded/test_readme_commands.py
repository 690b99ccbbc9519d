"""Every command of the README is run, as it is written there.

What a command needs from outside is put in its way: a virtual environment that is ready, a server
at the address it names, a folder to install into. A command that this file does not know fails.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.e2e.conform.obedient import obedient
from tests.e2e.gateway.process import Gateway
from tests.scripted import ScriptedServer

ROOT = Path(__file__).parents[3]
BLOCKS = re.findall(
    r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE
)
COMMANDS = [
    command
    for block in BLOCKS
    for command in ([block] if block.startswith("curl") else block.splitlines())
]
INLINE = re.findall(r"`((?:make|pip|toolwire) [^`]+)`", (ROOT / "README.md").read_text())


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    with ScriptedServer(script=obedient) as server:
        yield server


@pytest.fixture
def ready(tmp_path: Path) -> dict[str, str]:
    """A virtual environment that is ready, so that `make` installs nothing."""
    venv = tmp_path / "venv"
    venv.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (venv / name).symlink_to(Path(sys.prefix) / name)
    for stamp in (".ready", ".serves"):
        (venv / stamp).touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOOLWIRE_")}
    kept.pop("ARGS", None)  # those of the `make` that runs this test
    path = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "MAKEFLAGS": f"VENV={venv}", "TOOLWIRE_WARM_UP": "false"}


def serve(command: str, ready: dict[str, str]) -> None:
    """Start it on a free port, and wait until it listens."""
    with subprocess.Popen(
        command,
        shell=True,
        cwd=ROOT,
        env={**ready, "TOOLWIRE_PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            assert any("listens on http://127.0.0.1:" in line for line in lines)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def run(command: str, ready: dict[str, str], **more: str) -> str:
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env={**ready, **more},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(command: str, ready: dict[str, str], target: Path) -> None:
    """Install into a folder. pipx and uv take what pip takes."""
    what = shlex.split(command)[-1]
    offline = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_TARGET": str(target)}
    run(f"python -m pip install -q {shlex.quote(what)}", ready, **offline)
    assert (target / "toolwire" / "cli").is_dir()


def collect(command: str, ready: dict[str, str]) -> None:
    """The tests are found; this is one of them, so they are not run in it."""
    out = run(command, {**ready, "PYTEST_ADDOPTS": "--collect-only -n 0"}, ARGS=__file__)
    assert "test_a_command_of_the_readme_runs" in out


def addressed(command: str, url: str) -> str:
    return re.sub(r"http://(localhost:8000|127\.0\.0\.1:8181)/v1", url, command)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split("\n")[0][:60])
def test_a_command_of_the_readme_runs(
    command: str,
    ready: dict[str, str],
    backend: ScriptedServer,
    served: Gateway,
    tmp_path: Path,
) -> None:
    kinds: dict[str, Callable[[], object]] = {
        "make serve": lambda: serve(addressed(command, backend.url), ready),
        "make test": lambda: collect(command, ready),
        "pip install": lambda: install(command, ready, tmp_path / "target"),
        "pipx install": lambda: install(command, ready, tmp_path / "target"),
        "uv tool install": lambda: install(command, ready, tmp_path / "target"),
        "toolwire doctor": lambda: run(addressed(command, backend.url), ready),
        "curl": lambda: run(addressed(command, served.url), ready),
        # Run for real by `make clients`, which installs Cline.
        "cline": lambda: None,
    }
    (act,) = (act for start, act in kinds.items() if command.startswith(start))
    act()


def test_the_readme_has_these_commands() -> None:
    assert len(COMMANDS) >= 10
    assert COMMANDS[0] == "make serve"


@pytest.mark.parametrize("command", INLINE)
def test_a_command_within_a_sentence_exists(command: str, ready: dict[str, str]) -> None:
    words = shlex.split(command)
    if words[0] == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words[1] in targets
    elif words[0] == "toolwire":
        options = [word for word in words if word.startswith("-")]
        shown = run(f"toolwire {words[1]} --help", ready)
        assert [option for option in options if option not in shown] == []
    else:
        extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
        assert words[-1].partition("[")[2].rstrip("]") in extras


def test_a_clean_removes_what_the_targets_made(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    made = (".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", "build", "src/__pycache__")
    for name in made:
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "toolwire.toml").touch()
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "src", "toolwire.toml"]
