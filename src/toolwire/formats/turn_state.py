"""The state that framers and engines share while reading one turn, and their interfaces."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from toolwire.formats.engines.begin import Begin
from toolwire.formats.event_sink import EventSink
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, Reader
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.trace import Trace
from toolwire.protocol.json_boundary import is_unclosed


@dataclass(slots=True)
class TurnState:
    """One turn being read. `stop` are the markers that end a malformed call.

    `begun` is where the current span of calls began. `broken`: the last rejected call began
    correctly, so live delivery would have sent it; `lost` is its name, and whether it is JSON.
    """

    reader: Reader
    sink: EventSink
    tools: DeclaredTools
    stop: Lexer
    trace: Trace | None = None
    why: str = ""  # why the last span was not a call
    begun: int = 0
    broken: bool = False
    lost: tuple[str, bool] = ("", False)
    settled: int = 0  # how much of the text was settled at the last `settle`
    mention: str = ""  # the quotation mark that may end here, if calls are only looked for
    lookaheads: int = 0  # how often the rest of the text was searched for the end of a value

    def settle(self) -> None:
        """Settle everything read so far: only later text can become plain text again."""
        self.settled = self.reader.offset
        if not self.sink.held:
            self.reader.mark()

    def settle_late(self) -> None:
        """Settle the text of held calls, once they are sent."""
        if self.sink.held:
            return
        taken = self.reader.raw()
        rest = taken[len(taken) - (self.reader.offset - self.settled) :]
        self.reader.give_back(rest)
        self.reader.mark()
        self.reader.pos += len(rest)

    def give_up(self, text: str, *, cut: bool) -> None:
        """Say the text of a rejected call. If it is one of a known tool, report it if asked to.

        `cut`: the text ends here. A call whose brackets are closed is malformed, not truncated.
        """
        name, json = self.lost
        if self.broken and self.sink.reporting and self.tools.allows(name):
            self.sink.unread(name, text, cut=cut and not _is_closed(text, json=json))
        else:
            self.sink.text(text)

    def refuse(self, why: str) -> bool:
        """Record why this is not a call. Always returns False, for use in `return`."""
        self.why = why
        return False


class Opening(NamedTuple):
    """How a call was opened. `strict`: only a known tool counts. `name` comes from the header, if
    the framing has headers."""

    strict: bool
    name: str = ""


class FormatEngine(Hashable, Protocol):
    """Reads the calls that follow an opener.

    `read` starts after the opener. It returns False if the text is not a call. The caller then
    turns everything consumed since the last settled call into text.

    `begins` describes the text where `read` starts; with `bare`, it must name a known tool.
    """

    def begins(self, *, bare: bool) -> Begin: ...

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]: ...


def start_call(turn: TurnState, name: str, provider_id: str | None = None) -> None:
    """Start a call. A live call cannot become text again, so its text is no longer kept."""
    turn.sink.start(name, provider_id)
    if turn.sink.live:
        turn.reader.unmark()


def finish_call(
    turn: TurnState, *, ok: bool, why: str = "the arguments are not JSON", json: bool = False
) -> Need[bool]:
    """End the current call: complete, or as the delivery requires if its arguments are malformed.

    In live delivery the name was already sent, so the call is marked incomplete. In truncated text,
    a partial value is dropped. Otherwise the rest of the call is sent: as arguments if the model
    writes them as `json`, else as text. In whole delivery, the call is discarded.
    """
    if ok:
        turn.sink.end()
        turn.settle()
        return True
    if not turn.sink.live:
        turn.lost = turn.sink.take_back(), json
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


def _is_closed(text: str, *, json: bool) -> bool:
    if text.rstrip().endswith(("}", "]", ")")):
        return True
    _, brace, rest = text.partition("{")
    return json and bool(brace) and not is_unclosed(brace + rest)


def copy_rest(turn: TurnState, write: Callable[[str], str] = str) -> Need[None]:
    """Copy everything up to the next structural marker to the current call's arguments."""
    yield from pass_rest(turn, lambda text: turn.sink.args(write(text)))


def pass_rest(turn: TurnState, put: Callable[[str], None] = lambda _: None) -> Need[None]:
    """Consume everything up to the next structural marker."""
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
    """Send everything up to the next structural marker as text."""
    start = turn.reader.offset
    yield from pass_rest(turn, turn.sink.text)
    if turn.trace is not None and turn.reader.offset > start:
        turn.trace.add(turn.begun, start, "call", turn.why)
        turn.trace.add(start, turn.reader.offset, "text", turn.why)
        turn.begun = turn.reader.offset
