"""What a chat shows: text as it streams, a line for each running tool with its time, notes.

Text of a model or a tool never reaches the terminal with control characters in it: they could
move the cursor, or worse.
"""

import contextlib
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from toolwire.client.events import Call
from toolwire.client.running.results import CallResult

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ARGUMENTS = 60
_ERROR = 100


def printable(text: str) -> str:
    """The text without control characters."""
    return _CONTROL.sub("", text)


def call_line(call: Call) -> str:
    """A call on one line: `get_weather(city="Paris")`."""
    given = (f"{name}={_json(value)}" for name, value in call.arguments.items())
    text = printable(", ".join(given)).replace("\n", " ")
    short = text if len(text) <= _ARGUMENTS else f"{text[:_ARGUMENTS]}..."
    return f"{printable(call.name)}({short})"


@dataclass
class _Row:
    call: Call
    began: float = field(default_factory=time.monotonic)
    result: CallResult | None = None

    def shown(self) -> Text:
        result = self.result
        seconds = time.monotonic() - self.began if result is None else result.seconds
        if result is None:
            return Text(f"  … {call_line(self.call)}  {seconds:.1f} s", style="yellow")
        if not result.is_error:
            return Text(f"  ✓ {call_line(self.call)}  {seconds:.1f} s", style="green")
        why = printable(result.text).replace("\n", " ")[:_ERROR]
        return Text(f"  ✗ {call_line(self.call)}  {seconds:.1f} s  {why}", style="red")


class Screen:
    """The terminal, or a plain stream if it is none."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._rows: dict[str, _Row] = {}
        self._live: Live | None = None
        self._at_line_start = True

    def __rich_console__(self, *_: Any) -> Iterator[Text]:
        """What the live part shows now: a line for each call."""
        return (row.shown() for row in self._rows.values())

    def text(self, text: str) -> None:
        """The next piece of the model's text."""
        self._write(printable(text))

    def reasoning(self, text: str) -> None:
        """The next piece of what the model thinks."""
        self._end_calls()
        self._console.print(Text(printable(text), style="dim"), end="")
        self._at_line_start = text.endswith("\n")

    def call_started(self, call: Call) -> None:
        """A tool begins to run."""
        self._new_line()
        self._rows[call.id] = _Row(call)
        if self._live is None and self._console.is_terminal:
            self._live = Live(self, console=self._console, refresh_per_second=8)
            self._live.start()

    def call_finished(self, call: Call, result: CallResult) -> None:
        """A call has its result."""
        self._new_line()
        row = self._rows.setdefault(call.id, _Row(call))
        row.result = result
        if all(one.result for one in self._rows.values()):
            self._end_calls()

    def end_turn(self) -> None:
        """The turn is over, however it ended."""
        self._end_calls()
        self._new_line()

    def note(self, text: str, style: str = "dim") -> None:
        """Something that is not the model's."""
        self._end_calls()
        self._new_line()
        self._console.print(Text(printable(text), style=style))

    def error(self, text: str) -> None:
        """Something went wrong."""
        self.note(text, style="red")

    def ask(self, question: str) -> str:
        """Ask the user; the end of the input is no answer."""
        self._end_calls()
        self._new_line()
        try:
            said = input(printable(question))
        except EOFError:
            return ""
        if said:
            _forget_line()
        return said.strip()

    def _end_calls(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        elif not self._console.is_terminal:
            for row in self._rows.values():
                self._console.print(row.shown())
        elif self._rows:
            self._console.print(self)
        self._rows.clear()

    def _write(self, text: str) -> None:
        self._end_calls()
        sys.stdout.write(text)
        sys.stdout.flush()
        self._at_line_start = text.endswith("\n") if text else self._at_line_start

    def _new_line(self) -> None:
        if not self._at_line_start:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._at_line_start = True


def _forget_line() -> None:
    """An answer to a question is not one of the lines that the arrow keys bring back."""
    with contextlib.suppress(ImportError, ValueError):
        import readline  # noqa: PLC0415 - not on every system

        readline.remove_history_item(readline.get_current_history_length() - 1)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
