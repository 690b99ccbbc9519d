"""Tries one format at the sign of a call that several formats may have written."""

from collections.abc import Hashable
from functools import lru_cache, partial

from msgspec.structs import fields

from toolwire.formats.channels import ChannelFramer, Channels
from toolwire.formats.detection.detect import written_around, written_in
from toolwire.formats.event_sink import EventSink
from toolwire.formats.framing import Markers
from toolwire.formats.markers import MarkerSet
from toolwire.formats.parser import Parser
from toolwire.formats.quoting.mentions import Start
from toolwire.formats.reader import Need, Reader
from toolwire.formats.record import Format
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.turn_state import TurnState
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    TextDelta,
)
from toolwire.protocol.tools import ToolSpec

_AROUND = frozenset({"drop", "reasoning", "reasoning_calls", "citations"})
"""The markers of text and reasoning, which no trial meets."""


class Trial:
    """One format on trial. `won` once it has a declared tool and the beginning of arguments."""

    __slots__ = ("_args", "_inner", "_parser", "_seen", "_sign", "name", "record", "won")

    def __init__(self, record: Format, tools: tuple[ToolSpec, ...], sign: str) -> None:
        self.record = record
        self.name = ""
        self.won = False
        self._parser = Parser(record, tools)
        framing = record.framing
        self._inner = framing.inner if isinstance(framing, Channels) else ()
        self._sign = sign
        self._seen = ""
        self._args = ""

    @property
    def has_argument(self) -> bool:
        """Whether the call has an argument, and not only a name."""
        return self._args.startswith('{"')

    def start(self, tools: DeclaredTools) -> Start | None:
        """Return what reads the calls ahead. None for other messages, which only their markers
        show."""
        framing = self.record.framing.for_tools(tools)
        if isinstance(framing, Channels) and self.name:
            return partial(_message, framing, self.record, tools)
        if isinstance(framing, Markers):
            return partial(_calls, framing, self.record, tools)
        return None

    def refuses(self, char: str, tools: DeclaredTools) -> bool:
        """Read the next character, or the end; True if this is not the format."""
        self._seen += char if self._inner else ""
        events = self._parser.feed(char) if char else self._parser.finish()
        return any(self._refuses(event, tools) for event in events)

    def _refuses(self, event: Event, tools: DeclaredTools) -> bool:
        if self.won:
            return False
        if isinstance(event, TextDelta | ReasoningDelta):
            # Message formats contain other text too, so a parsed header counts as progress.
            understood = any(marker in self._seen for marker in self._inner)
            self.won = understood and not self._sign.startswith(event.text[:1])
            return not self.won
        if isinstance(event, CallStart):
            self.name = event.name
            return not tools.allows(event.name)
        if isinstance(event, ArgsDelta):
            self._args += event.json
            self.won = len(self._args) > 1
            return not self._args.startswith("{")
        if isinstance(event, CallEnd):
            self.won = event.complete
            return not event.complete
        return False


def _calls(
    framing: Markers, record: Format, tools: DeclaredTools, reader: Reader, sink: EventSink
) -> Need[bool]:
    turn = TurnState(reader, sink, tools, framing.stop())
    return framing.framer(turn, record.engine).calls()


def _message(
    framing: Channels, record: Format, tools: DeclaredTools, reader: Reader, sink: EventSink
) -> Need[bool]:
    turn = TurnState(reader, sink, tools, framing.stop())
    return ChannelFramer(framing, turn, record.engine).call()


@lru_cache(maxsize=128)
def way_of_calling(record: Format) -> Hashable:
    """Return what is the same for all formats that read calls alike, so that one trial is enough.
    They may differ in what stands around calls."""
    framing = record.framing
    if not isinstance(framing, MarkerSet):
        return framing, record.engine
    facts = (getattr(framing, one.name) for one in fields(framing) if one.name not in _AROUND)
    return type(framing), *facts, record.engine


def likeness(record: Format, sign: str, before: str, text: str) -> tuple[int, bool]:
    """How much of the text is the format's own, and whether it writes this sign itself."""
    own = written_around(record, before) + written_in(record, text)
    return own, sign in record.writing.before + record.writing.call
