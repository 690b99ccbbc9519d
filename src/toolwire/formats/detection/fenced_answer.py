"""Reads an answer that consists only of calls in code fences."""

from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec.structs import replace

from toolwire.formats.catalog import get
from toolwire.formats.detection.detect import Detection
from toolwire.formats.engines.py_calls import PyCalls
from toolwire.formats.parser import Delivery, Parser
from toolwire.formats.quoting.quotes import FENCE
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta
from toolwire.protocol.tools import ToolSpec

_PYTHON = "gemma3"  # the format whose calls in a fence are plain Python
_CALLS = PyCalls(brackets=False, known=True, wrappers=("print",))  # not those of a program
_MOST = 32  # maximum code fences in an answer, because each is tried in every format


class Inner(Protocol):
    """Reads the content of one fence, in any format."""

    found: Detection | None

    def feed(self, text: str) -> list[Event]: ...

    def finish(self) -> list[Event]: ...


class PythonCalls:
    """Reads the content of a fence of Python: calls of tools without anything around them."""

    def __init__(self, tools: Iterable[ToolSpec], delivery: Delivery) -> None:
        self.found: Detection | None = Detection(_PYTHON, "it reads the text as calls in Python")
        self._parser = Parser(replace(get(_PYTHON), engine=_CALLS), tools, delivery=delivery)
        self._parser.feed(f"{FENCE}tool_code\n")

    def feed(self, text: str) -> list[Event]:
        """Consume the next piece of the fence."""
        return self._parser.feed(text)

    def finish(self) -> list[Event]:
        """End the fence."""
        return self._parser.finish()


class FencedAnswer:
    """Reads an answer line by line, as long as it consists only of calls in code fences."""

    __slots__ = (
        "_fences",
        "_in_line",
        "_inner",
        "_line",
        "_make",
        "_pieces",
        "_ticks",
        "calls",
        "events",
        "found",
        "why",
    )

    def __init__(self, make: Callable[[str], Inner]) -> None:
        self.events: list[Event] = []
        self.found: Detection | None = None
        self.calls = 0
        self.why = ""
        self._make = make
        self._inner: Inner | None = None
        self._ticks = 0
        self._fences = 0
        self._line: list[str] = []
        self._pieces: list[str] = []  # the arguments of a call, which nobody gets before its end
        self._in_line = False  # in a line of a fence, of which the beginning has been read

    def made(self) -> bool:
        """Whether the answer was only calls."""
        return self.calls > 0 and not self.why

    def reason(self, *, fences: bool) -> str:
        """Why the answer is text; "" if nothing in it resembled a call."""
        if not self.calls:
            return ""
        return self.why or ("" if fences else "a call in a code fence where none was demanded")

    def feed(self, text: str, *, final: bool) -> None:
        """Consume the next piece of a line. What may be a fence is kept until it is complete."""
        if self._inner and (self._in_line or text.strip().strip("`")):
            self._put(self._inner.feed(self._taken(text)))
            self._in_line = not text.endswith("\n")
        elif text.endswith("\n") or final:
            self._take(self._taken(text))
        else:
            self._line.append(text)
        if final and self._inner:
            self._close(self._inner)

    def _taken(self, text: str) -> str:
        line = "".join([*self._line, text])
        self._line.clear()
        return line

    def _take(self, line: str) -> None:
        bare = line.strip()
        ticks = len(bare) - len(bare.lstrip("`"))
        if self._inner is None:
            if ticks >= len(FENCE) and "`" not in bare[ticks:]:
                self._open(ticks, bare[ticks:].strip())
            elif bare:
                self.why = "text stands beside the code fence that holds the call"
        elif ticks >= self._ticks and len(bare) == ticks:
            self._close(self._inner)
        else:
            self._put(self._inner.feed(line))

    def _open(self, ticks: int, language: str) -> None:
        self._fences += 1
        if self._fences > _MOST:
            self.why = "there are too many code fences"
            return
        self._ticks = ticks
        self._inner = self._make(language)

    def _close(self, inner: Inner) -> None:
        self._put(inner.finish())
        self.found = self.found or inner.found
        self.calls = sum(isinstance(event, CallStart) for event in self.events)
        self._inner = None

    def _put(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, ArgsDelta):
                self._pieces.append(event.json)
            elif isinstance(event, CallStart | CallEnd):
                index = event.index + self.calls
                if self._pieces:
                    self.events.append(ArgsDelta(index, "".join(self._pieces)))
                    self._pieces.clear()
                self.events.append(replace(event, index=index))
                if isinstance(event, CallEnd) and not event.complete:
                    self.why = "the call in the code fence is not complete"
            elif not _is_blank(event):
                self.why = "the code fence holds other things than calls"
            if self.why:
                self.calls = sum(isinstance(event, CallStart) for event in self.events)
                break


def _is_blank(event: Event) -> bool:
    """Whether an event is only whitespace."""
    return isinstance(event, TextDelta) and event.text.isspace()
