"""Distinguishes calls from mentions. A call in a code fence, a code span or quotation marks is a
mention, but only if these are closed, which the text after the call shows.

So if a marker follows an open one, the text is read ahead as far as needed and then given back. The
lookahead depends on the text alone, not on how it is chunked:

- in a fence: to the end of the fence. If the text ends first, or it is longer than `_HELD`, there
  was no fence;
- in a span or in quotation marks: past the call and to the end of its line (but not further than
  `_LOOK`), where they must be closed. An incomplete call is a mention if its span is closed on its
  first line. Past `_HELD`, an incomplete call is none.

Backticks or tildes in a call may be its own, such as Markdown that it writes to a file. They are if
the call turns out to be complete and they are in pairs. Then only text behind it closes anything.

Text that was looked at and is then read again, by the next lookahead too, costs time. Past `_FREE`
of it, a quoted marker is a mention without lookahead.

There is no lookahead for text that no engine reads as a call: it is text in any case.
"""

import re
from collections.abc import Container
from typing import Protocol

from toolwire.formats.event_sink import EventSink
from toolwire.formats.quoting.quotes import APOSTROPHES, FENCE, Quotes
from toolwire.formats.reader import Need, Reader, peek

_LOOK = 1024  # how far past a call, or a lone marker, to look for the end of the line
_HELD = 128 * 1024  # how long a fence behind a marker, or a call in a span or quote, may be
_LONGEST = 16 * 1024  # how far to look for the end of a call that has backticks or tildes
_VAIN = 4  # how often in a turn, if there was none
_ENDLESS = 1 << 30
_FENCES = range(len(FENCE), _ENDLESS)
_FREE = 32 * 1024  # how much may be looked at in vain, besides once all of the text
_RUN = re.compile(r"`++|\n")
_ANY_RUN = re.compile(r"`++|~++")
_SPECIAL = re.compile(r"<\||\|>|｜")


def is_special(marker: str) -> bool:
    """Whether a marker consists of special tokens, which hardly ever occur in text."""
    return _SPECIAL.search(marker) is not None


class Start(Protocol):
    """Starts reading calls at the opener, with another reader and sink."""

    def __call__(self, reader: Reader, sink: EventSink) -> Need[bool]: ...


class Lookahead:
    """Reads possible calls ahead without sending anything.

    `made` is the length of the calls once they have ended. `refused`: there are none. `fed` is how
    much text was fed.
    """

    __slots__ = ("_run", "_sink", "fed", "made", "reader", "refused")

    def __init__(self, start: Start, *, live: bool = True) -> None:
        self.reader = Reader()
        self._sink = EventSink(live=live)
        self._run = start(self.reader, self._sink)
        self.made = -1
        self.refused = False
        self.fed = 0

    @property
    def step(self) -> int:
        """How much text to feed next. It grows, so that text that is soon refused costs little, and
        long text takes few steps. One of them ends at `_HELD`."""
        return min(_LOOK + self.fed, _HELD - self.fed) if self.fed < _HELD else _LOOK

    def feed(self, text: str, *, final: bool = False) -> None:
        """Continue reading, or look at the text behind the calls, but not further than `_LOOK`."""
        reader = self.reader
        self.fed += len(text)
        if self.refused or (self.made >= 0 and len(reader.buf) - reader.pos >= _LOOK):
            return
        reader.add(text)
        reader.final = final
        if self.made >= 0:
            return
        if next(self._run, self) is self:
            self.refused = not self._sink.calls
            self.made = -1 if self.refused else reader.offset


class Mentions:
    """Tells mentions from calls in one turn."""

    __slots__ = ("_looked", "_quotes", "_reader", "_vain")

    def __init__(self, reader: Reader, quotes: Quotes) -> None:
        self._reader = reader
        self._quotes = quotes
        self._vain = 0
        self._looked = 0  # how far all lookaheads have read

    def quoted(self, size: int, start: Start | None) -> Need[int]:
        """Return the length of the mention at the reader, where a marker of `size` begins.

        `start` reads the calls behind the marker, if it opens any.
        """
        reader = self._reader
        if start is None and not self._quotes.marked():
            near = yield from peek(reader, size + 1)
            return size + 1 if near[size:] == self._quotes.quote() else 0
        if self._looked > reader.offset + _FREE:
            return size
        reader.mark()
        if self._quotes.fenced:
            found = yield from self._in_fence(size, start)
        elif start:
            found = yield from self._call_in_line(size, start)
        else:
            found = yield from self._marker_in_line(size)
        reader.give_back(reader.raw())
        return found

    def _take(self, size: int) -> str:
        reader = self._reader
        start = reader.pos
        reader.pos += size
        return reader.buf[start : reader.pos]

    def _take_line(self, most: int) -> str:
        """Consume the available part of the line, with its newline, but not more than `most`."""
        buf, start = self._reader.buf, self._reader.pos
        end = min(start + most, len(buf))
        return self._take((buf.find("\n", start, end) + 1 or end) - start)

    def _over(self) -> bool:
        return self._reader.final and self._reader.pos == len(self._reader.buf)

    def _in_fence(self, size: int, start: Start | None) -> Need[int]:
        ahead, seen, text = self._quotes.copy(), 0, self._take(size)
        lookahead, pieces = Lookahead(start) if start else None, [text]
        while True:
            if lookahead:
                lookahead.feed(text, final=self._over())
                if lookahead.refused:
                    return 0
            end = ahead.see_to_close(text)
            if 0 <= end <= _HELD - seen:
                call = None
                if start and lookahead and lookahead.made < 0:
                    mark = self._quotes.fence
                    call = yield from self._complete(pieces, start, _FENCES, mark)
                if not call:
                    self._looked += seen + end
                    return 0 if ahead.spans else seen + end
                ahead, seen, lookahead = self._quotes.copy(), call.made, None
                whole = "".join(pieces)
                ahead.skip(whole[:seen])
                text = whole[seen:]
                continue
            seen += len(text)
            if self._over() or seen >= _HELD:
                break
            left = _HELD - seen
            text = self._take_line(min(left, lookahead.step) if lookahead else left)
            if lookahead:
                pieces.append(text)
            if not text:
                yield
        if self._over() and ahead.closed_at_end():
            return seen
        self._quotes.give_up_fences()
        return 0

    def _marker_in_line(self, size: int) -> Need[int]:
        """For a lone marker: whether the rest of its line closes the open span or quote."""
        if "\n" in self._take(size):
            return 0
        line = self._take_line(_LOOK + 1)
        while not (line.endswith("\n") or self._over() or len(line) > _LOOK):
            yield
            line += self._take_line(_LOOK + 1)
        end = self._close(line[:_LOOK])
        self._looked += 0 if end else len(line)
        return end and size + end

    def _call_in_line(self, size: int, start: Start) -> Need[int]:
        lookahead, pieces = Lookahead(start), [self._take(size) + self._take_line(_LOOK)]
        taken = len(pieces[0])
        while True:
            lookahead.feed(pieces[-1], final=self._over())
            if lookahead.refused:
                return 0
            if self._over() or (taken > size and pieces[-1].endswith("\n")):
                break
            if taken >= _HELD or 0 <= lookahead.made <= taken - _LOOK:
                break
            pieces.append(self._take_line(lookahead.step))
            taken += len(pieces[-1])
            if not pieces[-1]:
                yield
        read = taken if lookahead.made < 0 else lookahead.made
        self._looked += read
        end, complete = self._within("".join(pieces)[: read + _LOOK], start)
        if end:
            spans = self._quotes.spans
            call = None if complete else (yield from self._complete(pieces, start, spans))
            if not call:
                return end
            lookahead = call
        while lookahead.made < 0:
            if lookahead.fed >= _HELD:
                self._looked += _HELD - read
                return 0
            yield from self._feed(lookahead)
            if lookahead.refused:
                return 0
        self._looked += max(0, lookahead.made - read)
        return (yield from self._behind(lookahead))

    def _within(self, line: str, start: Start) -> tuple[int, bool]:
        """Return where in the first line of a call the mention ends, or 0, and whether the call is
        complete in it."""
        end = _close_of_span(line, self._quotes.spans)
        if not end and not self._quotes.quote():
            return 0, False
        alone = Lookahead(start, live=False)
        alone.feed(line, final=True)
        if alone.made < 0:
            return end, False
        closed = self._close(line[alone.made :])
        return closed and alone.made + closed, True

    def _complete(
        self, pieces: list[str], start: Start, sizes: Container[int], mark: str = "`"
    ) -> Need[Lookahead | None]:
        """Read on to the end of the call that begins with these pieces, which get the text read.
        None if it does not end, or its marks, in runs of these sizes, are not in pairs."""
        if self._vain == _VAIN:
            return None
        call = Lookahead(start, live=False)
        call.feed("".join(pieces), final=self._over())
        left = _LONGEST
        while call.made < 0 and not call.refused and left:
            pieces.append((yield from self._feed(call, left)))
            left -= len(pieces[-1])
        if call.made >= 0:
            runs = _ANY_RUN.findall("".join(pieces)[: call.made])
            if sum(run[0] == mark and len(run) in sizes for run in runs) % 2 == 0:
                return call
        self._vain += 1
        return None

    def _behind(self, lookahead: Lookahead) -> Need[int]:
        """Return where the last line of the calls, or the next text, closes the mention, or 0."""
        while True:
            pos = lookahead.reader.pos
            rest = lookahead.reader.buf[pos : pos + _LOOK]
            line = rest.lstrip()
            if "\n" in line or len(rest) == _LOOK or self._over():
                break
            yield from self._feed(lookahead)
        gap = len(rest) - len(line)
        if "\n" in rest[:gap]:
            line = (_RUN.match(line) or [""])[0]
        closed = self._close(line)
        return closed and lookahead.made + gap + closed

    def _feed(self, lookahead: Lookahead, most: int = _ENDLESS) -> Need[str]:
        """Feed the next text, once there is some, and return it."""
        reader = self._reader
        while reader.pos == len(reader.buf) and not reader.final:
            yield
        text = self._take(min(lookahead.step, most, len(reader.buf) - reader.pos))
        lookahead.feed(text, final=self._over())
        return text

    def _close(self, line: str) -> int:
        """Return where the first line after calls closes the open span or quote, or 0."""
        if end := _close_of_span(line, self._quotes.spans):
            return end
        quote = self._quotes.quote()
        near = line[:1] if quote in APOSTROPHES.values() else line.partition("\n")[0]
        return near.find(quote) + 1 if quote else 0


def _close_of_span(line: str, spans: tuple[int, ...]) -> int:
    """Return where the first line of a text closes one of these spans, or 0."""
    for match in _RUN.finditer(line) if spans else ():
        if match.group() == "\n":
            break
        if len(match.group()) in spans:
            return match.end()
    return 0
