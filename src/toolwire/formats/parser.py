"""Parses one turn's text into events, for any format of the catalogue."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

import msgspec

from toolwire.formats.event_sink import EventSink
from toolwire.formats.lexer import any_of
from toolwire.formats.markers import TAGGED_TURN_ENDS
from toolwire.formats.reader import Reader
from toolwire.formats.record import Format, Framing
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.trace import Trace
from toolwire.formats.turn_state import TurnState
from toolwire.protocol.events import ArgsDelta, CallStart, Event, ReasoningDelta, TextDelta
from toolwire.protocol.tools import ToolSpec

Delivery = Literal["live", "whole", "reported"]
"""`reported`: as `whole`, but a call of a known tool that cannot be read is an incomplete call,
with its text, instead of text."""


class Parser:
    """Reads one turn. It never raises on model text. Use a new parser for each turn."""

    __slots__ = ("_half", "_reader", "_run", "_sink", "mark", "marker", "trace")

    def __init__(
        self,
        format: Format,  # noqa: A002  # the word the whole house uses for a model's syntax
        tools: Iterable[ToolSpec] = (),
        *,
        delivery: Delivery = "live",
        trace: Trace | None = None,
    ) -> None:
        toolset = DeclaredTools(tools)
        framing = format.framing.for_tools(toolset)
        self.trace = trace
        self.mark, self.marker = _marker(format.framing)
        """See `MarkedReader`."""
        self._half = ""  # a high surrogate, waiting for its low surrogate
        self._reader = Reader()
        self._sink = EventSink(live=delivery == "live", reporting=delivery == "reported")
        turn = TurnState(self._reader, self._sink, toolset, framing.stop(), trace)
        self._run = framing.framer(turn, format.engine).run()
        next(self._run, None)

    @property
    def idle(self) -> bool:
        """Whether the parser holds nothing back: no open call, no partial marker."""
        return not (self._sink.open or self._reader.waiting)

    def feed(self, text: str) -> list[Event]:
        """Consume the next piece of the turn. Return the events that are now certain."""
        self._reader.add(text if text.isascii() and not self._half else self._paired(text))
        next(self._run, None)
        return self._sink.take()

    def _paired(self, text: str) -> str:
        """Make `text` encodable as UTF-8: join surrogate pairs, and replace lone surrogates."""
        text = self._half + text
        try:
            text.encode()  # the fastest way to see that there are none
        except UnicodeEncodeError:
            self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
            pairs = text.removesuffix(self._half).encode("utf-16", "surrogatepass")
            return pairs.decode("utf-16", "replace")
        self._half = ""
        return text

    def finish(self) -> list[Event]:
        """End the turn. Return the remaining events."""
        self._reader.add("\ufffd" if self._half else "")
        self._reader.final = True
        for _ in self._run:
            raise AssertionError("an engine asked for more after the end")
        return self._sink.take()


@lru_cache(maxsize=256)
def _marker(framing: Framing) -> tuple[str, re.Pattern[str]]:
    """Return a character of every marker, and what matches any of them. The tokens that
    end a turn are among them. Single characters are too common to be a marker by themselves."""
    markers = [marker for marker in framing.markers() if len(marker) > 1]
    markers += TAGGED_TURN_ENDS
    shared = (mark for mark in "<[|" if all(mark in marker for marker in markers))
    return next(shared, ""), any_of(markers)


class ExtractedCall(msgspec.Struct, frozen=True):
    """A call found in a text. `arguments` is the JSON text of one object."""

    name: str
    arguments: str
    provider_id: str | None = None

    def decoded(self) -> Any:
        """The arguments as Python values."""
        return json.loads(self.arguments)


class Extracted(msgspec.Struct, frozen=True):
    """The parsed contents of a whole text. `content` and `reasoning` are None if there is none.

    `format` is the detected format, if detection was requested; empty if nothing shows one.
    """

    content: str | None
    reasoning: str | None
    calls: list[ExtractedCall]
    format: str = ""


def join(events: Iterable[Event]) -> Extracted:
    """Join the events of one turn."""
    content: list[str] = []
    reasoning: list[str] = []
    starts: list[CallStart] = []
    arguments: list[list[str]] = []
    for event in events:
        if isinstance(event, TextDelta):
            content.append(event.text)
        elif isinstance(event, ReasoningDelta):
            reasoning.append(event.text)
        elif isinstance(event, CallStart):
            starts.append(event)
            arguments.append([])
        elif isinstance(event, ArgsDelta):
            arguments[event.index].append(event.json)
    calls = [
        ExtractedCall(start.name, "".join(pieces), start.provider_id)
        for start, pieces in zip(starts, arguments, strict=True)
    ]
    return Extracted("".join(content) or None, "".join(reasoning) or None, calls)
