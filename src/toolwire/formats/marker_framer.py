"""Separates text from calls, for formats that mark calls inside one stream of text.

Theory of operation. The framer is always in one of four states:

- content: looks for openers, sections and reasoning. Everything else is text, including an opener
  that no call follows (`begin.py`); then only the opener is skipped.
- mention: a marker follows an unclosed code fence, code span or quotation mark. The framer looks
  ahead for the closing mark (`mentions.py`). If there is one, the whole mention is text.
- region of calls: an opener was found. The engine reads the call; then end markers and layout are
  discarded, and the next opener continues the region. The first plain text ends it. If the engine
  rejects the call, its text becomes plain text, and reading resumes where the engine stopped.
- reasoning: ends at its end marker. A call inside it counts only if it is the last thing the model
  wrote, which means that the end marker is missing. If anything follows, the call was a draft.

No state holds back more than the longest marker and the layout before it. After an opener, it holds
back just enough to tell whether a call begins.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Literal

from toolwire.formats.event_sink import EventSink
from toolwire.formats.lexer import NO_CALL
from toolwire.formats.markers import LAYOUT, MarkerSet, is_token
from toolwire.formats.quoting.mentions import Mentions, is_special
from toolwire.formats.quoting.quotes import FENCE, Quotes
from toolwire.formats.reader import Need, Reader, peek, skip_space
from toolwire.formats.trace import SpanKind
from toolwire.formats.turn_ends import may_end_turn, tokens_ahead
from toolwire.formats.turn_state import FormatEngine, Opening, TurnState, pass_rest

_REFERENCE_TAIL = re.compile(r"(?::[\d\s:,.\[\]]{0,64}+)?+")


class MarkerFramer:
    """Reads one turn of a format whose calls are marked in the text."""

    def __init__(self, markers: MarkerSet, turn: TurnState, engine: FormatEngine) -> None:
        self._markers = markers
        self._turn = turn
        self._reader = turn.reader
        self._sink = turn.sink
        self._engine = engine
        self._lexers = markers.lexers(engine)
        self._words = self._lexers.words
        self._reasoning_counts = markers.reasoning_calls == "count"
        self._quotes = Quotes()
        self._mentions = Mentions(turn.reader, self._quotes)

    def run(self) -> Need[None]:
        """Read the whole turn."""
        reader, lexer = self._reader, self._lexers.content
        while True:
            start, end, marker = lexer.search(reader)
            if start > reader.pos:
                self._text(start - reader.pos)
            if marker:
                kind = lexer.kinds[marker]
                if not self._pass(marker, end - start, kind):
                    yield from self._meet(marker, end - start, kind)
            elif reader.final:
                return
            else:
                yield

    def _pass(self, marker: str, size: int, kind: str) -> bool:
        """Consume a marker that needs no further reading; False if it is another marker."""
        if kind == NO_CALL:
            self._text(size, self._lexers.unlike)
        elif marker in self._words and not (kind == "think" and self._sink.blank):
            self._text(size, "words of the answer")
        elif marker[0] == "`" and self._quotes.running:
            self._text(size)
        elif kind in ("drop", "unthink") and (is_special(marker) or not self._quotes.marked()):
            self._drop(size, layout=kind == "unthink" and not self._sink.blank)
        else:
            return False
        return True

    def _meet(self, marker: str, size: int, kind: str) -> Need[None]:
        if kind == "turn_end":
            yield from self._end_turn(marker, size)
            return
        calls = kind in ("open", "bare", "section")
        why = ""
        if self._quotes.open() and (calls or not is_special(marker)):
            why = self._quotes.kind()
            start = partial(self._ahead, marker, size, kind) if calls else None
            if quoted := (yield from self._mentions.quoted(size, start)):
                self._text(quoted, why)
                self._quotes.close()
                return
        if calls:
            yield from self._region(marker, size, kind, self._sink.text, why)
        elif kind == "citation":
            yield from self._citation(size, partial(self._text, size))
        else:
            self._drop(size)
            if kind == "think":
                yield from self._reasoning(spoken=marker in self._words)

    def _end_turn(self, token: str, size: int) -> Need[None]:
        """Drop tokens at the end of the answer. Before anything else, or in Markdown, they are
        text."""
        last = False
        if not self._quotes.marked() and may_end_turn(token, self._quotes.line):
            size, last = yield from tokens_ahead(self._reader)
        (self._drop if last else self._text)(size)

    def calls(self) -> Need[bool]:
        """Read the calls that begin here, of declared tools, and nothing else. False if there are
        none."""
        marker, size = yield from self._lexers.region.at(self._reader)
        return bool(marker) and (yield from self._only_calls(marker, size, strict=True))

    def _ahead(
        self, marker: str, size: int, kind: str, reader: Reader, sink: EventSink
    ) -> Need[bool]:
        """Run `_region` on the same text with another reader, to the end of the last call."""
        turn = TurnState(reader, sink, self._turn.tools, self._turn.stop)
        turn.mention = self._quotes.quote()
        other = MarkerFramer(self._markers, turn, self._engine)
        return (yield from other._only_calls(marker, size, strict=self._strict(kind)))

    def _only_calls(self, marker: str, size: int, *, strict: bool) -> Need[bool]:
        """Run `_calls` to the end of the last call, but not through the layout behind it."""
        reader = self._reader
        reader.mark()
        clean = yield from self._calls(marker, size, strict=strict)
        reader.give_back(reader.raw())
        return clean

    def _drop(self, size: int, *, layout: bool = False) -> None:
        """Drop a marker; but not the `layout` around it, which separates what precedes and follows
        it."""
        written = self._reader.buf[self._reader.pos : self._reader.pos + size] if layout else ""
        lead = len(written) - len(written.lstrip())
        tail = len(written) - len(written.rstrip())
        if lead:
            self._text(lead)
        self._take(size - lead - tail, "markup")
        self._quotes.forget()
        if tail:
            self._text(tail)

    def _citation(self, size: int, show: Callable[[], None]) -> Need[None]:
        """Hide a citation tag such as `</co: 0:[1,2]>`; `show` any other tag."""
        reader = self._reader
        while True:
            tail = _REFERENCE_TAIL.match(reader.buf, reader.pos + size)
            end = tail.end() if tail else reader.pos + size
            if end < len(reader.buf) or reader.final:
                break
            yield
        if reader.buf[end : end + 1] == ">":
            self._take(end + 1 - reader.pos, "markup")
        else:
            show()

    def _reasoning(self, *, spoken: bool) -> Need[None]:
        """Read reasoning, from after its opener to after its end marker, which may be `spoken`."""
        reader, lexer, fresh = self._reader, self._lexers.reasoning, True
        while True:
            start, end, marker = lexer.search(reader)
            if start > reader.pos:
                fresh = False
                self._think(start - reader.pos)
            kind = lexer.kinds.get(marker)
            if kind == "think" and fresh:
                self._take(end - start, "markup")  # a duplicate opener
                continue
            fresh = fresh and not marker
            if kind in ("think", NO_CALL) or (marker in self._words and not spoken):
                self._think(end - start, self._lexers.unlike if kind == NO_CALL else "")
                continue
            if kind == "citation":
                yield from self._citation(end - start, partial(self._think, end - start))
                continue
            if kind == "unthink":
                self._drop(end - start)
                return
            if marker and self._reasoning_counts:
                yield from self._meet_in_reasoning(marker, end - start)
            elif marker:
                if (yield from self._draft(marker, end - start)):
                    return
            elif reader.final:
                return
            else:
                yield

    def _think(self, size: int, why: str = "") -> None:
        reader = self._reader
        text = reader.buf[reader.pos : reader.pos + size]
        self._sink.reasoning(text)
        if self._reasoning_counts:
            self._quotes.see(text)
        self._take(size, "reasoning", why)

    def _meet_in_reasoning(self, marker: str, size: int) -> Need[None]:
        """Read calls in reasoning, unless they are quoted there."""
        reader, why = self._reader, self._quotes.kind() if self._quotes.open() else ""
        if why:
            start = partial(self._ahead, marker, size, "open")
            quoted = yield from self._mentions.quoted(size, start)
            text, kinds = reader.buf[reader.pos : reader.pos + quoted], self._lexers.reasoning.kinds
            if any(kind == "unthink" and end in text for end, kind in kinds.items()):
                self._quotes.give_up_fences()  # one in the answer closes none in the reasoning
            elif quoted:
                self._think(quoted, why)
                self._quotes.close()
                return
        yield from self._region(marker, size, "open", self._sink.reasoning, why)

    def _draft(self, marker: str, size: int) -> Need[bool]:
        """Read a call in reasoning. True if nothing follows it, so that it counts."""
        reader, sink, start = self._reader, self._sink, self._reader.offset
        reader.mark()
        sink.hold()
        before = sink.calls
        clean = yield from self._calls(marker, size, strict=True)
        at_end = reader.final and reader.pos == len(reader.buf)
        if clean and at_end and sink.calls > before:
            reader.unmark()
            sink.release()
            self._trace(start, "call", "the last thing in reasoning that was never closed")
            return True
        sink.drop()
        self._turn.broken = False
        taken = reader.raw()
        draft = taken.rstrip()
        reader.give_back(taken[len(draft) :])  # it may belong to the end marker
        sink.reasoning(draft)
        self._trace(start, "reasoning", "a call in reasoning is a draft")
        return False

    def _region(
        self, marker: str, size: int, kind: str, put: Callable[[str], None], why: str = ""
    ) -> Need[None]:
        """Read calls and the layout between them, up to the first plain text, which goes to `put`.

        `why` is the reason recorded if there was no call.
        """
        turn, reader = self._turn, self._reader
        turn.begun = reader.offset
        reader.mark()
        before = self._sink.calls
        clean = yield from self._calls(marker, size, strict=self._strict(kind))
        if turn.broken and marker not in self._markers.bare:
            yield from pass_rest(turn)  # as far as live delivery would have consumed it
        if not clean:
            end, size = yield from self._lexers.ends.at(reader)
            if end not in self._markers.drop:
                reader.pos += size  # what is shown of a rejected call is shown with its end
        any_call = self._sink.calls > before
        pending = reader.raw()
        at_end = reader.final and reader.pos == len(reader.buf)
        taken = reader.offset - len(pending)
        self._trace(turn.begun, "call", end=taken)
        if any_call:
            self._quotes.forget(line="]")  # the following text does not start a line
        if any_call and at_end and pending.isspace():
            self._trace(taken, "layout")
        elif pending:
            if put == self._sink.text:
                turn.give_up(pending, cut=at_end)
            else:
                put(pending)
            self._quotes.see("" if turn.broken else pending)
            kind_of_rest: SpanKind = "text" if put == self._sink.text else "reasoning"
            self._trace(taken, kind_of_rest, turn.why if any_call else why or turn.why)
        turn.why, turn.broken = "", False

    def _strict(self, kind: str) -> bool:
        """Whether an opener in content must be followed by a known tool."""
        if kind == "bare":
            return not (self._markers.bare_start == "any" and self._sink.blank)
        return self._markers.strict or bool(self._markers.sections)

    def _calls(self, marker: str, size: int, *, strict: bool) -> Need[bool]:
        """Read calls as long as structure follows. False if the engine rejected one."""
        turn, reader, lexer = self._turn, self._reader, self._lexers.region
        any_call = entered = closed = False
        while marker:
            kind = lexer.kinds[marker]
            if kind in ("open", "bare"):
                if not (yield from self._call(marker, size, strict=strict, again=any_call)):
                    return False
                any_call, closed = True, False
            elif kind == "section":
                reader.pos += size
                entered = entered or is_token(marker)
            elif (any_call or entered) and not (closed and marker == FENCE):
                closed = marker == FENCE  # it closes one fence, and the next one opens another
                reader.pos += size
                turn.settle()
                if self._markers.echoes and not (yield from self._pass_echo()):
                    return False
            else:
                break
            marker, size = yield from self._next_marker()
            inside = self._markers.inside if kind == "section" and not marker else None
            if inside and (yield from self._is_unopened()):
                if not (yield from inside.read(turn, Opening(strict))):
                    return False
                any_call = True
                marker, size = yield from self._next_marker()
            strict = self._strict_after(strict=strict, bare=marker in self._markers.bare)
        at_end = reader.final and (reader.pos == len(reader.buf) or lexer.begun(reader))
        if any_call and at_end:
            reader.pos = len(reader.buf)  # the text was truncated behind or inside a marker
            turn.settle()
        return True

    def _is_unopened(self) -> Need[bool]:
        """Whether a call in a section begins here without an opener."""
        begins = self._markers.unopened
        return (yield from peek(self._reader, max(map(len, begins)))).startswith(begins)

    def _next_marker(self) -> Need[tuple[str, int]]:
        """Return the next marker if at most layout precedes it. Consumes the layout."""
        reader, lexer = self._reader, self._lexers.region
        marker, size = yield from lexer.at(reader)
        if not marker and (yield from skip_space(reader, LAYOUT)) != " ":
            marker, size = yield from lexer.at(reader)
        return marker, size

    def _marker_ahead(self) -> Need[tuple[str, int]]:
        """Return the next marker and the distance to its end, if at most layout precedes it."""
        reader, lexer, ahead = self._reader, self._lexers.region, 0
        marker, size = yield from lexer.at(reader)
        while not marker and (yield from peek(reader, ahead + 1))[ahead:].isspace():
            ahead += 1
            if ahead > LAYOUT:
                break
            marker, size = yield from lexer.at(reader, ahead)
        return marker, ahead + size

    def _pass_echo(self) -> Need[bool]:
        """Pass repeated calls without an opener before an end marker; False for anything else.

        Only a bracket right after the calls is checked, so that text is not held back.
        """
        reader, sink = self._reader, self._sink
        if sink.held or (yield from peek(reader, 1)) != "[":
            return True
        sink.hold()
        clean = yield from self._engine.read(self._turn, Opening(strict=True))
        marker, _ = yield from self._lexers.region.at(reader)
        sink.drop()
        self._turn.broken = False
        return clean and marker in self._markers.ends

    def _strict_after(self, *, strict: bool, bare: bool) -> bool:
        """Whether the next opener needs a known tool. In a region, only ambiguous openers do."""
        return bare or (strict and (self._sink.held or self._markers.strict))

    def _call(self, marker: str, size: int, *, strict: bool, again: bool) -> Need[bool]:
        """Read one opener and its calls. If it is not the first (`again`), it may be a mistake for
        an end marker."""
        if marker not in self._markers.bare:
            self._reader.pos += size
            if self._may_follow() and (yield from self._is_empty(marker, again=again)):
                return True
        return (yield from self._engine.read(self._turn, Opening(strict)))

    def _is_empty(self, marker: str, *, again: bool) -> Need[bool]:
        """Consume repeated openers. Return whether a token is followed by an end marker, or any
        opener behind a call, also by the end of the text."""
        reader, kinds = self._reader, self._lexers.region.kinds
        while reader.buf.startswith(marker + marker, reader.pos):
            reader.pos += len(marker)  # a repeated opener
        ahead, size = yield from self._marker_ahead()
        while ahead == marker:  # a duplicate opener
            reader.pos += size
            ahead, size = yield from self._marker_ahead()
        if not again:
            return is_token(marker) and ahead in self._markers.ends
        over = reader.final and not reader.buf[reader.pos :].strip()
        if over or kinds.get(ahead) in ("end", "drop"):
            self._turn.settle()
            return True
        return False

    def _may_follow(self) -> bool:
        """Whether another marker, or layout before one, may begin here."""
        char = self._reader.buf[self._reader.pos : self._reader.pos + 1]
        return not char or char in self._lexers.region.firsts or char.isspace()

    def _text(self, size: int, why: str = "") -> None:
        reader = self._reader
        text = reader.buf[reader.pos : reader.pos + size]
        self._sink.text(text)
        self._quotes.see(text)
        reader.pos += size
        if self._turn.trace is not None:
            self._trace(reader.offset - size, "text", why)

    def _take(self, size: int, kind: Literal["markup", "reasoning"], why: str = "") -> None:
        start = self._reader.offset
        self._reader.pos += size
        self._trace(start, kind, why)

    def _trace(
        self,
        start: int,
        kind: SpanKind,
        why: str = "",
        end: int | None = None,
    ) -> None:
        if self._turn.trace is not None:
            self._turn.trace.add(start, self._reader.offset if end is None else end, kind, why)
