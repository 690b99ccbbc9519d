"""Run one client through the file task: `python -m tests.e2e.clients.run NAME --url URL`.

Each run has a home and a working directory of its own, and only the variables it needs, so that
nothing of this machine's owner leaks in and nothing of the run stays.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.clients import node, process
from tests.e2e.clients.client import Client, Stage
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import CLIENTS

KEY = "sk-scripted"
FILE = "hello.py"
CONTENT = 'print("hello")'


@dataclass(frozen=True)
class Run:
    """What came of a run: how it ended, and the file it was asked to write."""

    client: Client
    outcome: process.Outcome
    written: tuple[str, ...]
    """What each hello.py below the working directory holds: a script's checks write one each."""

    @property
    def failure(self) -> str | None:
        """Why the task is not done, or None if it is."""
        if self.outcome.exit_code is None:
            return f"did not end within {self.client.limit:.0f} s"
        if self.outcome.exit_code != 0:
            return f"exit code {self.outcome.exit_code}"
        if not self.written:
            return f"wrote no {FILE}"
        if wrong := [text for text in self.written if text.strip() != CONTENT]:
            return f"wrote {wrong[0]!r} into {FILE}"
        return None

    def __str__(self) -> str:
        verdict = self.failure or "done"
        return f"{self.client.name}: {verdict} ({self.outcome.seconds:.1f} s)"


def run_client(
    client: Client,
    url: str,
    *,
    model: str | None = None,
    checks: Sequence[str] = (),
    task: str = "",
    files: Mapping[str, bytes] | None = None,
) -> Run:
    """Give the task to an installed client that talks to `url`, and wait for the end.

    `files` are in its working directory when it starts.
    """
    with tempfile.TemporaryDirectory(prefix=f"{client.name}-", ignore_cleanup_errors=True) as base:
        # No folder above may hold a prompt file for agents: some look for one up to the root.
        home, work = Path(base, "home"), Path(base, "work")
        home.mkdir()
        work.mkdir()
        for name, content in (files or {}).items():
            (work / name).write_bytes(content)
        command = client.recipe(
            Stage(
                base_url=url,
                key=KEY,
                model=model or client.model,
                home=home,
                work=work,
                root=client.root,
                python=client.python,
                checks=tuple(checks),
                task=task,
            )
        )
        env = {**_common_env(home), **command.env}
        outcome = process.run(command.argv, cwd=work, env=env, limit=client.limit)
        return Run(client, outcome, tuple(file.read_text() for file in work.rglob(FILE)))


def _common_env(home: Path) -> dict[str, str]:
    scratch = home / "tmp"
    scratch.mkdir()
    return {
        "PATH": os.pathsep.join([str(node.BIN), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "CI": "true",
        "DO_NOT_TRACK": "1",
        "NO_PROXY": "*",
        "PYTHONUNBUFFERED": "1",  # what a script said before it was ended is worth having
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Run one client and show what it printed if the task was not done."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.clients.run")
    parser.add_argument("name", choices=CLIENTS, metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--url", required=True, help="base URL, for example http://host:port/v1")
    parser.add_argument("--model", help="model id, where the client's usual one will not do")
    parser.add_argument("--check", action="append", default=[], help="one sub-check of a script")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the output anyway")
    options = parser.parse_args(argv)
    client = CLIENTS[options.name]
    install(client)
    run = run_client(client, options.url, model=options.model, checks=options.check)
    if options.verbose or run.failure:
        sys.stdout.write(f"{run.outcome.tail}\n")
    sys.stdout.write(f"{run}\n")
    sys.exit(1 if run.failure else 0)


if __name__ == "__main__":
    main()
