"""Formats that write several typed messages, each with a header that gives its type.

A message is `START header HEADER_END body MESSAGE_END`. The first one lacks its START, because the
prompt ended with it, and a later one may lack it too. The header decides the route: text,
reasoning, or a tool, whose body an engine reads. An unterminated header is text, unless the text
ends in it. So is anything between messages but whitespace.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from toolwire.formats.arguments.scalars import look_past_space
from toolwire.formats.event_sink import EventSink
from toolwire.formats.lexer import Lexer
from toolwire.formats.markers import TURN_ENDS
from toolwire.formats.quoting.mentions import Mentions, is_special
from toolwire.formats.quoting.quotes import Quotes
from toolwire.formats.reader import Need, Reader, peek, skip_space
from toolwire.formats.record import Framer
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.trace import SpanKind
from toolwire.formats.turn_ends import tokens_ahead
from toolwire.formats.turn_state import FormatEngine, Opening, TurnState, pass_rest

_MAX_HEADER = 512
_BRACKETS = 4  # maximum surplus brackets after a call
_CUT_HEADER = re.compile(r"[\w.\-=<|>]{1,256}+(?: [\w.\-=<|>]{0,128}+){0,3}+")
_MOST_NAME = 128
_NAME = re.compile(rf"[\w.\-]{{0,{_MOST_NAME}}}+")
_LAYOUT = 16  # maximum whitespace after a call that counts as layout
Target: TypeAlias = Literal["text", "reasoning", "tool"]


class Destination(msgspec.Struct, frozen=True):
    """Where a message goes. `name` is the tool's name, if the header has it."""

    target: Target
    name: str = ""


# (header, its end marker, the tools) -> where the message goes; None if it is not a header.
HeaderRouter: TypeAlias = Callable[[str, str, DeclaredTools], Destination | None]


class Channels(msgspec.Struct, frozen=True, eq=False):
    """The markers of a message format.

    `starts` begin a header. `inner` also begin one, but belong to it. `first` show that the text
    begins, or continues after a message, inside a header; so does a tool's name followed by
    `named`.
    """

    starts: tuple[str, ...]
    header_ends: tuple[str, ...]
    message_ends: tuple[str, ...]
    route: HeaderRouter
    inner: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    named: str = ""
    unstarted: str = ""
    """A tool's header, with `{name}`. The model may omit its START even in the middle of a text."""
    quotable: tuple[str, ...] = ()
    """Special tokens that are text inside closed Markdown, whatever they begin, because they begin
    every answer, so that explanations of the format quote them."""

    def framer(self, turn: TurnState, engine: FormatEngine) -> Framer:
        """A framer for one turn."""
        return ChannelFramer(self, turn, engine)

    def for_tools(self, tools: DeclaredTools) -> "Channels":
        """These markers, with the tools' names if they can begin a header."""
        return _with_names(self, tools.names()) if self.named or self.unstarted else self

    def stop(self) -> Lexer:
        """The markers that end a message."""
        return _lexers(self).body

    def markers(self) -> tuple[str, ...]:
        """Every structural marker, to be escaped in untrusted text."""
        return (*self.starts, *self.header_ends, *self.message_ends, *self.inner)

    def hold_limit(self) -> int:
        """The maximum number of plain-text characters held back."""
        longest = max(lexer.longest for lexer in (_lexers(self).body, _lexers(self).first))
        return longest - 1 + (_MOST_NAME if is_special(self.named) else 0)


@lru_cache(maxsize=64)
def _with_names(channels: Channels, names: tuple[str, ...]) -> Channels:
    ends = {"": (), "\n": ("\n", "\r\n")}.get(channels.named, (channels.named,))
    named = tuple(name + end for name in names for end in ends)
    unstarted = tuple(channels.unstarted.format(name=name) for name in names if channels.unstarted)
    return replace(channels, first=(*channels.first, *named), inner=(*channels.inner, *unstarted))


class _Lexers(msgspec.Struct, frozen=True):
    first: Lexer
    header: Lexer
    body: Lexer
    text: Lexer
    foreign: Lexer


@lru_cache(maxsize=64)
def _lexers(channels: Channels) -> _Lexers:
    starts = dict.fromkeys(channels.starts, "start")
    inner = dict.fromkeys(channels.inner, "inner")
    ends = dict.fromkeys(channels.message_ends, "end")
    foreign = {token: "turn_end" for token in TURN_ENDS if token not in ends}
    return _Lexers(
        first=Lexer({**dict.fromkeys(channels.first, "inner"), **inner, **starts}),
        header=Lexer({**starts, **dict.fromkeys(channels.header_ends, "header_end"), **ends}),
        body=Lexer({**inner, **ends, **starts}),
        text=Lexer({**foreign, **inner, **ends, **starts}),
        foreign=Lexer(foreign),
    )


class ChannelFramer:
    """Reads one turn of a message format."""

    def __init__(self, channels: Channels, turn: TurnState, engine: FormatEngine) -> None:
        self._channels = channels
        self._turn = turn
        self._reader = turn.reader
        self._sink = turn.sink
        self._engine = engine
        self._lexers = _lexers(channels)
        self._quotes = Quotes()
        self._mentions = Mentions(turn.reader, self._quotes)
        self._quoted = frozenset(
            marker
            for marker, kind in self._lexers.body.kinds.items()
            if kind != "end" or marker in channels.quotable or not is_special(marker)
        )
        self._target: Target = "text"
        self._called = False  # a call was the last thing read

    def run(self) -> Need[None]:
        """Read the whole turn."""
        yield from self._begun_header(first=True)
        while True:
            while self._called and self._channels.named:
                self._called = False
                yield from self._begun_header()
            marker, size = yield from self._body()
            if not marker:
                return
            kind = self._lexers.body.kinds[marker]
            self._quotes.forget()
            if kind == "end":
                self._take(size, "markup")
                self._target = "text"
                yield from self._begun_header()
            else:
                yield from self._header(size, kind)

    def call(self) -> Need[bool]:
        """Read the message that begins here. False if it is no call."""
        marker, size = yield from self._lexers.body.at(self._reader)
        if marker:
            yield from self._header(size, self._lexers.body.kinds[marker])
        return self._sink.calls > 0

    def _begun_header(self, *, first: bool = False) -> Need[None]:
        """Read a header without its START, if the text here shows one. Whitespace before a header
        is layout; so is whitespace behind a message if no text follows."""
        reader, lexer = self._reader, self._lexers.first
        lead = yield from look_past_space(reader, 0)
        marker, size = yield from lexer.at(reader, lead)
        if not marker and (name := (yield from self._name_at(lead))):
            yield from self._header(len(name), "inner", lead)
            return
        if lead and len(marker) < 2:
            lead, space = 0, lead
            marker, size = yield from lexer.at(reader)
            if not (marker or first) and (yield from self._no_text_at(space)):
                self._take(space, "markup")
        if marker:
            yield from self._header(size, lexer.kinds[marker], lead)

    def _name_at(self, ahead: int) -> Need[str]:
        """Return the name there if `named` follows and is special; the tool may be unknown."""
        reader, named = self._reader, self._channels.named
        while is_special(named):
            start = reader.pos + ahead
            end = _NAME.match(reader.buf, start).end()  # type: ignore[union-attr]
            behind = reader.buf[end : end + len(named)]
            if behind == named or reader.final or not named.startswith(behind):
                return reader.buf[start:end] if behind == named else ""
            yield
        return ""

    def _no_text_at(self, ahead: int) -> Need[bool]:
        """Whether the end of a message, or of the turn, is there."""
        marker, _ = yield from self._lexers.body.at(self._reader, ahead)
        if marker:
            return True
        _, last = yield from tokens_ahead(self._reader, self._lexers.foreign)
        return last

    def _body(self) -> Need[tuple[str, int]]:
        """Read text or reasoning up to the next marker, which is not consumed; "" at the end."""
        reader, lexer = self._reader, self._lexers.text
        while True:
            start, end, marker = lexer.search(reader)
            if start > reader.pos:
                self._say(start - reader.pos)
            if lexer.kinds.get(marker) == "turn_end":
                yield from self._end_turn()
            elif marker in self._quoted and self._target == "text" and self._quotes.open():
                quoted = yield from self._mention(marker, end - start)
                if not quoted:
                    return marker, end - start
                self._say(quoted)
                self._quotes.close()
            elif marker or reader.final:
                return marker, end - start
            else:
                yield

    def _end_turn(self) -> Need[None]:
        """Drop tokens of other formats at the end of the answer. Before anything else they are
        text."""
        size, last = yield from tokens_ahead(self._reader, self._lexers.foreign)
        if last:
            self._take(size, "markup")
        else:
            self._say(size)

    def _mention(self, marker: str, size: int) -> Need[int]:
        """Return the length of the mention that starts at this marker.

        A special token is mentioned only in front of a call, and only if text that closes the
        quotation comes right behind the end of one. A turn does not go on there without a header.
        """
        reader, kinds = self._reader, self._lexers.body.kinds
        quotable = not is_special(marker) or marker in self._channels.quotable
        lead = size if quotable or kinds[marker] == "start" else 0
        reader.mark()
        reader.pos += lead
        found = yield from self._read_header()
        reader.give_back(reader.raw())
        route = self._channels.route(*found, self._turn.tools) if found else None
        if quotable or not route or route.target != "tool":
            return (yield from self._mentions.quoted(size, None)) if quotable and route else 0
        quoted = yield from self._mentions.quoted(size, partial(self._ahead, lead, route.name))
        text = reader.buf[reader.pos : reader.pos + quoted]
        if kinds[max(kinds, key=text.rfind)] == "end":
            return quoted
        if quoted:
            self._quotes.give_up_fences()  # a fence of another message closes none
        return 0

    def _ahead(self, lead: int, name: str, reader: Reader, sink: EventSink) -> Need[bool]:
        """Read the message to a tool with another reader, to the end of its end marker."""
        turn = TurnState(reader, sink, self._turn.tools, self._turn.stop)
        other = ChannelFramer(self._channels, turn, self._engine)
        reader.pos += lead
        yield from other._read_header()
        reader.mark()
        clean = yield from self._engine.read(turn, Opening(strict=False, name=name))
        reader.give_back(reader.raw())
        space = yield from look_past_space(reader, 0)
        marker, size = yield from self._lexers.body.at(reader, space)
        if self._lexers.body.kinds.get(marker) == "end":
            reader.pos += space + size
        return clean

    def _say(self, size: int) -> None:
        reader = self._reader
        self._put(reader.buf[reader.pos : reader.pos + size])
        reader.pos += size
        if self._turn.trace is not None:
            kind: SpanKind = "text" if self._target == "text" else "reasoning"
            self._trace(reader.offset - size, kind)

    def _put(self, text: str) -> None:
        if self._target == "text":
            self._sink.text(text)
            self._quotes.see(text)
        else:
            self._sink.reasoning(text)

    def _header(self, size: int, kind: str, lead: int = 0) -> Need[None]:
        """Read a header, starting at its marker of `size` characters, behind so much space."""
        reader = self._reader
        begin = reader.offset
        reader.mark()
        reader.pos += lead + (size if kind == "start" else 0)
        found = yield from self._read_header()
        route = self._channels.route(*found, self._turn.tools) if found else None
        if found is None or route is None:
            if reader.offset == begin:
                reader.pos += size  # never the same marker twice
            junk = reader.raw()
            if not found and self._is_cut(junk):
                reader.pos = len(reader.buf)
                self._trace(begin, "markup", "a truncated header")
                return
            self._put(junk)
            self._trace(begin, "text" if self._target == "text" else "reasoning", "not a header")
            return
        written = reader.raw()
        before = len(written) - len(found[0]) - len(found[1])
        if before > lead + size and (junk := self._junk(written[:before])):
            self._put(junk)
            written = written[len(junk) :]
        if route.target == "tool":
            words = _words(written, *found)
            yield from self._tool(begin, route.name, words)
        else:
            self._trace(begin, "markup")
            self._target = route.target

    def _junk(self, before: str) -> str:
        """Return the text before a header, if a START that is plain text begins it by mistake."""
        starts = [start for start in self._channels.starts if not is_special(start)]
        start = next((start for start in starts if before.endswith(start)), "")
        text = before[: len(before) - len(start)] if start else ""
        return "" if not text or _of_starts(text, self._channels.starts) else text

    def _is_cut(self, begun: str) -> bool:
        """Whether the text ends in the header that began so, with a special token."""
        reader = self._reader
        if not reader.final or not all(map(is_special, (begun, *self._channels.header_ends))):
            return False
        return _CUT_HEADER.fullmatch(begun + reader.buf[reader.pos :]) is not None

    def _read_header(self) -> Need[tuple[str, str] | None]:
        """Consume the header. Return its text and its end marker, or None if it is not a header.

        A new START inside a header means that the first was junk, so the first is dropped.
        """
        reader, lexer = self._reader, self._lexers.header
        while True:
            found = yield from lexer.read_to(reader, _MAX_HEADER)
            if found is None:
                return None
            header, marker, size = found
            reader.pos += len(header) + size
            if lexer.kinds[marker] == "header_end":
                return header, marker
            if lexer.kinds[marker] == "end":
                reader.pos -= size
                return None

    def _tool(self, begin: int, name: str, words: str) -> Need[None]:
        """Read the body of a message to a tool. Anything left after the call is text, and so are
        the `words` of a header that no call follows."""
        turn, reader, before = self._turn, self._reader, self._sink.calls
        turn.begun = begin
        reader.mark()
        clean = yield from self._engine.read(turn, Opening(strict=False, name=name))
        self._target = "text"
        if clean:
            yield from self._behind_call()
        elif turn.broken:
            yield from pass_rest(turn)  # as far as live delivery would have consumed it
        rest = reader.raw()
        called = self._called = self._sink.calls > before
        self._trace(turn.begun, "call" if called else "markup", end=reader.offset - len(rest))
        if not clean and not turn.broken:
            self._put(words)
        turn.give_up(rest, cut=reader.final and reader.pos == len(reader.buf))
        self._trace(reader.offset - len(rest), "text", turn.why)
        turn.why, turn.broken = "", False

    def _behind_call(self) -> Need[None]:
        """Drop layout, a surplus bracket and a partial marker after a call."""
        reader, lexer = self._reader, self._lexers.text
        yield from skip_space(reader, _LAYOUT)
        name, _ = yield from self._lexers.first.at(reader)
        if self._channels.named and len(name) > 1:
            self._turn.settle()
        ahead = 0
        while ahead < _BRACKETS and (yield from peek(reader, ahead + 1))[ahead:] in ("}", "]"):
            ahead += 1
        marker, _ = yield from lexer.at(reader, ahead)
        if not marker and reader.final and lexer.begun(reader, ahead):
            ahead = len(reader.buf) - reader.pos
        if marker or reader.pos + ahead == len(reader.buf):
            reader.pos += ahead
            self._turn.settle()

    def _take(self, size: int, kind: SpanKind) -> None:
        start = self._reader.offset
        self._reader.pos += size
        self._trace(start, kind)

    def _trace(self, start: int, kind: SpanKind, why: str = "", end: int | None = None) -> None:
        if self._turn.trace is not None:
            self._turn.trace.add(start, self._reader.offset if end is None else end, kind, why)


def _of_starts(text: str, starts: tuple[str, ...]) -> bool:
    """Whether the text is nothing but these markers and white space."""
    for start in starts:
        text = text.replace(start, "")
    return not text.strip()


def _words(written: str, header: str, end: str) -> str:
    """Return the plain words of a header: they are an answer if no call follows them."""
    if not end.isspace():
        return ""
    return header + end if is_special(written) else written
