"""What a command of the documentation needs from outside, put in its way.

A clone whose virtual environment is ready, a server at every address that is named, the files that
a page speaks of. The command itself stays as it is written, except for addresses and elided ids.
"""

import atexit
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.e2e.embedded.commands.pages import ROOT, Command

ANSWER = '<tool_call>{"name": "get_time", "arguments": {"tz": "CET"}}</tool_call>\n'
_ADAPTER = "from toolwire.conformance.adapters import ours as adapter\n"
_CONFIGURATION = '[[models]]\nname = "*"\nbackend = {{ url = "{url}" }}\n'
_OF_A_PROJECT = re.compile(r"my\.module|toolwire check")
_STAND_INS = {"--format nimbus": "--format hermes"}  # the format that a page has you write
_CLONE = (
    "Makefile",
    "README.md",
    "pyproject.toml",
    "requirements",
    "src",
    "tests",
    "benchmarks",
    "docs",
    "examples",
)
_ELIDED = re.compile(r"\b(conv|call|req)_\w+\.\.\.")
_BACKEND = re.compile(r"https?://(?:localhost:\d+/v1|openrouter\.ai/api/v1)")
_OURS = "http://127.0.0.1:8181"


def _is_kept(variable: str) -> bool:
    """Whether a user's shell may have this variable, too."""
    return variable == "TOOLWIRE_CACHE" or not variable.startswith(("TOOLWIRE_", "MAKE"))


@dataclass(slots=True)
class Stage:
    """A folder like a clone, beside which servers run."""

    folder: Path
    backend: str
    """The base URL of a server that is not ours."""
    gateway: str
    """The root of a Toolwire in front of it."""
    embedded: str
    """The root of a Toolwire with the embedded model."""

    def build(self, weights: Path, traces: Path) -> None:
        """Put everything into the folder."""
        for name in _CLONE:
            (self.folder / name).symlink_to(ROOT / name)
        venv = self.folder / ".venv"
        venv.mkdir()
        for name in ("bin", "lib", "pyvenv.cfg"):
            (venv / name).symlink_to(Path(sys.prefix) / name)
        for stamp in (".ready", ".serves"):
            (venv / stamp).touch()
        (self.folder / "answer.txt").write_text(ANSWER)
        (self.folder / "qwen3-8b.gguf").symlink_to(weights)
        (self.folder / "traces").symlink_to(traces)
        shutil.copy(ROOT / "examples" / "my_tools.py", self.folder)
        package = self.folder / "project" / "my"
        package.mkdir(parents=True)
        (package / "module.py").write_text(_ADAPTER)
        (package.parent / "toolwire.toml").write_text(_CONFIGURATION.format(url=self.backend))

    def env(self, command: Command) -> dict[str, str]:
        """The variables of a shell that has the tool on its PATH, and what the page exports."""
        kept = {k: v for k, v in os.environ.items() if _is_kept(k)}
        kept.pop("ARGS", None)  # those of the `make` that runs this test
        exported = dict(
            word.split("=", 1)
            for line in command.exports
            for word in shlex.split(line, comments=True)[1:]
        )
        return {
            **kept,
            "PATH": f"{self.folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "TOOLWIRE_WARM_UP": "false",
            "TOOLWIRE_BASE_URL": f"{self.gateway}/v1",
            "MY_KEY": "sk-mine",
            **exported,
        }

    def written(self, command: Command) -> str:
        """The command with addresses that lead here."""
        ours = self.embedded if "SmolLM2" in command.text else self.gateway
        text = _BACKEND.sub(self.backend, command.text).replace(_OURS, ours)
        for shown, used in _STAND_INS.items():
            text = text.replace(shown, used)
        text = re.sub(r" \.\.\.$", "", text)
        ids = self._ids(command) if _ELIDED.search(text) else {}
        return _ELIDED.sub(lambda found: ids[found[1]], text)

    def _ids(self, command: Command) -> dict[str, str]:
        """What is elided: the first trace, and the ids that the page's requests so far got."""
        trace = min((self.folder / "traces").glob("req_*"), key=lambda path: path.stat().st_mtime)
        ids = {"req": trace.stem}
        for text in command.before:
            body = json.loads(self.run(Command(command.page, text)))
            message = body["choices"][0]["message"]
            ids["conv"] = body.get("conversation_id", "")
            ids["call"] = message["tool_calls"][0]["id"] if "tool_calls" in message else ""
        return ids

    def run(self, command: Command, *, codes: tuple[int, ...] = (0,), **more: str) -> str:
        """Run it to its end; what it printed."""
        done = subprocess.run(
            self.written(command),
            shell=True,
            cwd=self.folder / ("project" if _OF_A_PROJECT.search(command.text) else ""),
            env={**self.env(command), **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode in codes, done.stdout + done.stderr
        return done.stdout

    def examine(self, command: Command) -> None:
        """Examine the server; that it is not perfect is no failure of the command."""
        assert "works  a single call" in self.run(command, codes=(0, 1))

    def serve(self, command: Command) -> None:
        """Start it on a free port, and wait until it listens."""
        with subprocess.Popen(
            self.written(command),
            shell=True,
            cwd=self.folder,
            env={**self.env(command), "TOOLWIRE_PORT": "0"},
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

    def install(self, command: Command) -> None:
        """Install the clone into a folder, once; pipx and uv take what pip takes."""
        what = shlex.split(command.text)[-1]
        assert what.startswith("."), "there is nothing of this name to install from an index"
        extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
        assert set(what.lstrip(".[").rstrip("]").split(",")) - {""} <= set(extras)
        assert (_installed() / "toolwire" / "cli").is_dir()

    def collect(self, command: Command) -> None:
        """Tests are found; this is one of them, so they are not run in it."""
        marks = "--collect-only -n 0 -p no:cacheprovider"
        here = "tests/unit/test_package.py" if command.text.startswith("make") else ""
        assert "test" in self.run(command, PYTEST_ADDOPTS=marks, ARGS=here)

    def plan(self, command: Command) -> None:
        """A target that takes long, or changes the clone, is only planned."""
        self.run(Command(command.page, command.text.replace("make ", "make -n ", 1)))

    def offers(self, command: Command) -> None:
        """A measurement is not made: its script has the flags that it is given."""
        words = shlex.split(command.text, comments=True)
        shown = self.run(Command(command.page, shlex.join([*words[:2], "--help"])))
        assert [word for word in words if word.startswith("--") and word not in shown] == []

    def exists(self, command: Command) -> None:
        """A module that changes the clone or installs things: it is there."""
        assert find_spec(shlex.split(command.text)[2]) is not None


@cache
def _installed() -> Path:
    """A folder that the clone was installed into, without its dependencies."""
    target = tempfile.mkdtemp(prefix="toolwire-installed-")
    atexit.register(shutil.rmtree, target)
    arguments = ["--no-deps", "--no-build-isolation", "--target", target, str(ROOT)]
    words = [sys.executable, "-m", "pip", "install", "--quiet", *arguments]
    subprocess.run(words, check=True, capture_output=True)
    return Path(target)
