"""The nouns of this folder: a client, the stage it runs on, the command that runs it.

No client is named here (see registry) and nothing is started here (see run).
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
CACHE = REPOSITORY / ".cache" / "clients"
SCRIPTS = HERE / "scripts"

Source = Literal["npm", "pip", "environment"]
"""Where a client comes from: npm, PyPI (a venv of its own), or the environment that runs us."""

Api = Literal["chat", "Responses", "Messages"]


@dataclass(frozen=True)
class Stage:
    """One run's surroundings. `home` and `work` are fresh; `root` is where the client lives."""

    base_url: str
    key: str
    model: str
    home: Path
    work: Path
    root: Path
    python: Path
    checks: tuple[str, ...] = ()
    """The sub-checks to run instead of the usual ones, for a client that has them."""
    task: str = ""
    """What to ask for instead of the usual task, of a client that can be asked anything."""

    def write(self, path: str, text: str) -> Path:
        """Write a configuration file under the run's home."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target


@dataclass(frozen=True)
class Command:
    """What to execute, and the variables it needs beyond the common ones."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Client:
    """A client of another project and everything we know about running it."""

    name: str
    source: Source
    recipe: Callable[[Stage], Command]
    api: Api = "chat"
    package: str = ""
    """The folder it is installed from and into, where that is not called `name`."""
    library: str = ""
    """The name of its distribution on PyPI, where that is not the folder's."""
    model: str = "scripted"
    script: Any = "file_task"
    """What the model says, for a client that has none of the usual tools."""
    turns: int | None = None
    """Requests with tools that the file task takes: an agent's are write, read, run, finish."""
    limit: float = 180
    """Seconds after which the run is ended and counts as failed."""

    @property
    def root(self) -> Path:
        """The folder the client is installed in."""
        return CACHE / (self.package or self.name)

    @property
    def pins(self) -> tuple[Path, ...]:
        """The committed files that fix what is installed."""
        if self.source == "npm":
            folder = HERE / "packages" / self.root.name
            return (folder / "package.json", folder / "package-lock.json")
        if self.source == "pip":
            return (REPOSITORY / "requirements" / f"clients-{self.root.name}.txt",)
        return ()

    @property
    def version(self) -> str:
        """The pinned version."""
        if self.source == "npm":
            wanted = json.loads(self.pins[0].read_text())["dependencies"]
            return str(next(iter(wanted.values())))
        pins = self.pins[0] if self.pins else REPOSITORY / "requirements" / "dev.txt"
        library = self.library or self.root.name
        found = re.search(rf"^{library}==(\S+)", pins.read_text(), re.MULTILINE)
        return found[1] if found else ""

    @property
    def python(self) -> Path:
        """The interpreter that has the client, if it is a Python library."""
        return self.root / "bin" / "python" if self.source == "pip" else Path(sys.executable)
