"""A program in a terminal of its own, as a user has it."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect

PROMPT = r"\r\n> $"
_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """One program. `read_to` waits for a text and gives what was shown before it."""

    def __init__(self, child: "pexpect.spawn[str]") -> None:
        self._child = child

    def read_to(self, pattern: str) -> str:
        self._child.expect(pattern)
        shown = str(self._child.before) + str(self._child.after)
        return _STYLE.sub("", shown).replace("\r", "")

    def read_turn(self) -> str:
        """What is shown until the program waits for the user again."""
        return self.read_to(r"\n\r?> ")

    def type(self, line: str) -> None:
        self._child.sendline(line)

    def interrupt(self) -> None:
        self._child.sendintr()

    def end_input(self) -> None:
        self._child.sendeof()

    def wait(self) -> int | None:
        self._child.expect(pexpect.EOF)
        self._child.close()
        return self._child.exitstatus

    @property
    def pid(self) -> int:
        return int(self._child.pid)


@contextmanager
def toolwire(*arguments: str, cache: Path, env: Mapping[str, str] | None = None) -> Iterator[Any]:
    """`toolwire ...` in a terminal of 100 columns, until the block ends."""
    clean = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("TOOLWIRE_", "OPENAI_"))
    }
    child = pexpect.spawn(
        sys.executable,
        ["-m", "toolwire", *arguments],
        env={**clean, "TERM": "xterm-256color", "TOOLWIRE_CACHE": str(cache), **(env or {})},
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=60,
    )  # fmt: skip
    try:
        yield Terminal(child)
    finally:
        child.close(force=True)
