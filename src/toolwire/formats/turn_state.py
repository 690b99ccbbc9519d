"""What framers and engines share while one turn is read, and the shape of both."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from toolwire.formats.begin import Begin
from toolwire.formats.declared_tools import DeclaredTools
from toolwire.formats.event_sink import EventSink
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, Reader
from toolwire.formats.trace import Trace


@dataclass(slots=True)
class TurnState:
    """One turn being read. `stop` are the markers at which a malformed call is given up.

    `begun` is where the span of calls began that is being read. `broken`: the last call that was
    refused had begun well, and delivered live it would have been sent.
    """

    reader: Reader
    sink: EventSink
    tools: DeclaredTools
    stop: Lexer
    trace: Trace | None = None
    why: str = ""  # why the last span was not a call
    begun: int = 0
    broken: bool = False
    settled: int = 0  # how much of the text was dealt with, last time that it was

    def settle(self) -> None:
        """Everything read so far is dealt with: from here on it could become text again."""
        self.settled = self.reader.offset
        if not self.sink.held:
            self.reader.mark()

    def settle_late(self) -> None:
        """Calls that were held are sent: what was settled while they were is dealt with."""
        if self.sink.held:
            return
        taken = self.reader.raw()
        rest = taken[len(taken) - (self.reader.offset - self.settled) :]
        self.reader.give_back(rest)
        self.reader.mark()
        self.reader.pos += len(rest)

    def refuse(self, why: str) -> bool:
        """Say why this is not a call. Always False, to be returned."""
        self.why = why
        return False


class Opening(NamedTuple):
    """How a call was opened. `strict`: only a tool that is known may be called. `name` is what a
    header said, where the framing has headers."""

    strict: bool
    name: str = ""


class FormatEngine(Hashable, Protocol):
    """Reads the calls that follow an opener.

    `read` stands behind the opener. It returns False where it meets something that is no call;
    then the caller makes text of everything taken since the last call was settled.

    `begins` is about the text where `read` stands; if that is `bare`, it must be a known tool's.
    """

    def begins(self, *, bare: bool) -> Begin: ...

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]: ...


def start_call(turn: TurnState, name: str, provider_id: str | None = None) -> None:
    """A call begins. Sent live it cannot become text again, so nothing more is remembered."""
    turn.sink.start(name, provider_id)
    if turn.sink.live:
        turn.reader.unmark()


def finish_call(
    turn: TurnState, *, ok: bool, why: str = "the arguments are not JSON", json: bool = False
) -> Need[bool]:
    """End the call that was started: well, or as delivery demands when its arguments broke off.

    Live, the name has been sent and cannot be taken back, so the call is marked incomplete. Where
    the text was cut off, what was only begun is dropped. Else the rest of the call goes out: as
    arguments if the model writes these as `json`, otherwise as text, for it is none. If it is not
    live, the call is taken back.
    """
    if ok:
        turn.sink.end()
        turn.settle()
        return True
    if not turn.sink.live:
        turn.sink.take_back()
        turn.broken = True
        return turn.refuse(why)
    turn.why = why
    if turn.reader.final and not turn.stop.search(turn.reader)[2]:
        turn.reader.pos = len(turn.reader.buf)
    elif json:
        yield from copy_rest(turn)
    turn.sink.end(complete=False)
    if not json:
        yield from _say_rest(turn)
    turn.settle()
    return True


def copy_rest(turn: TurnState, write: Callable[[str], str] = str) -> Need[None]:
    """Copy everything up to the next structural marker to the current call's arguments."""
    yield from pass_rest(turn, lambda text: turn.sink.args(write(text)))


def pass_rest(turn: TurnState, put: Callable[[str], None] = lambda _: None) -> Need[None]:
    """Take everything up to the next structural marker."""
    reader = turn.reader
    while True:
        end, _, marker = turn.stop.search(reader)
        if end > reader.pos:
            put(reader.buf[reader.pos : end])
            reader.pos = end
        if marker or reader.final:
            return
        yield


def _say_rest(turn: TurnState) -> Need[None]:
    """Everything up to the next structural marker is text."""
    start = turn.reader.offset
    yield from pass_rest(turn, turn.sink.text)
    if turn.trace is not None and turn.reader.offset > start:
        turn.trace.add(turn.begun, start, "call", turn.why)
        turn.trace.add(start, turn.reader.offset, "text", turn.why)
        turn.begun = turn.reader.offset
