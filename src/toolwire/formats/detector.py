"""Finds calls in a format that nobody expected, while the text streams.

A turn uses it in place of a parser, or behind one, for the text that the parser leaves over:

    detector = OutputDetector(tools)
    for delta in deltas:
        events = detector.feed(delta)       # text as it comes; a call's events once one is found
    events = detector.finish()
    detector.found                          # the format, to remember for the model; or None
    detector.why                            # why something like a call stayed text; or ""

Theory of operation. Plain text costs one search for the characters that a sign of a call can begin
with, and passes at once. At a sign (`signatures.py`), the formats that have it read on in step,
character by character, so that it does not matter how the text is cut; the first that has the name
of a declared tool and the beginning of its arguments wins, and reads the rest of the turn. If none
does, the sign was text. A sign in Markdown or quotation marks that are closed is a mention.

Where `fences` is set (a call was demanded, or tools are in the prompt, or the model never called
natively), an answer of nothing but code fences that hold nothing but calls is these calls.
"""

from collections.abc import Iterable

import msgspec

from toolwire.formats.channels import Channels
from toolwire.formats.detect import Detection, written_in
from toolwire.formats.mentions import Mentions
from toolwire.formats.parser import Delivery, Parser
from toolwire.formats.quotes import FENCE, Quotes
from toolwire.formats.reader import Need, Reader, peek
from toolwire.formats.record import Format
from toolwire.formats.signatures import is_structure, signatures_of
from toolwire.formats.toolset import ToolSet
from toolwire.protocol.chat import Tool
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    TextDelta,
)

_LIMIT = 8192  # so much text is held at most before one of the formats must have won
_OVERLAP = 64  # where all formats gave up, a sign may have begun so far back
_BUDGET = 20_000  # characters read for nothing, after which signs are no longer looked for
_EACH = 16  # what it costs to begin, in characters
_OWN_FENCE = "```tool_code"  # the fence of a format, and no Markdown
_SPACE = 64  # so much whitespace may stand in front of an answer


class OutputDetector:
    """Reads one turn whose format is unknown. Never raises on model text."""

    __slots__ = (
        "_budget",
        "_delivery",
        "_events",
        "_fences",
        "_idle",
        "_mentions",
        "_parser",
        "_quotes",
        "_reader",
        "_run",
        "_signs",
        "_tools",
        "_toolset",
        "found",
        "why",
    )

    def __init__(
        self, tools: Iterable[Tool], *, fences: bool = False, delivery: Delivery = "live"
    ) -> None:
        self.found: Detection | None = None
        self.why = ""
        self._tools = tuple(tools)
        self._toolset = ToolSet(self._tools)
        self._signs = signatures_of(self._toolset.names())
        self._fences = fences
        self._delivery = delivery
        self._budget = _BUDGET
        self._idle = False  # nothing is held, and signs are looked for
        self._reader = Reader()
        self._quotes = Quotes()
        self._mentions = Mentions(self._reader, self._quotes)
        self._events: list[Event] = []
        self._parser: Parser | None = None
        self._run = self._read()
        if self._tools:
            next(self._run)

    @property
    def held(self) -> int:
        """How many characters are held back at the moment."""
        return 0 if self._parser else self._reader.held()

    def feed(self, text: str) -> list[Event]:
        """The events that `text`, the next piece of the turn, makes certain."""
        if self._parser:
            return self._parser.feed(text)
        if not self._tools or (self._idle and not self._signs.rare.search(text)):
            self._quotes.see(text)
            return [TextDelta(text)] if text else []
        self._reader.add(text)
        return self._take()

    def finish(self) -> list[Event]:
        """The events that only the end of the turn makes certain."""
        if self._parser or not self._tools:
            return self._parser.finish() if self._parser else []
        self._reader.add("")
        self._reader.final = True
        events = self._take()
        return [*events, *self._parser.finish()] if self._parser else events

    def _take(self) -> list[Event]:
        next(self._run, None)
        events, self._events = self._events, []
        return events

    def _read(self) -> Need[None]:
        """The whole turn, or as much of it as is text."""
        reader, lexer = self._reader, self._signs.anywhere
        if (yield from self._begin()):
            return
        while True:
            start, end, sign = lexer.search(reader)
            if start > reader.pos:
                self._say(start - reader.pos)
            if sign and self._budget <= 0:
                self.why = self.why or "too much that looked like calls was none"
                self._say(end - start)
            elif sign:
                if (yield from self._meet(sign, end - start)):
                    return
            elif reader.final:
                return
            else:
                self._idle = reader.pos == len(reader.buf)
                yield
                self._idle = False

    def _begin(self) -> Need[bool]:
        """The beginning of the answer, where also calls without markers count. True if one does."""
        reader = self._reader
        space = 0
        while (yield from peek(reader, space + 1))[space:].isspace() and space < _SPACE:
            space += 1
        ahead = (yield from peek(reader, space + 1))[space:]
        if ahead == "`":
            ahead = (yield from peek(reader, space + len(_OWN_FENCE)))[space:]
            if ahead.startswith(FENCE) and ahead != _OWN_FENCE:
                return (yield from self._fenced())
        for lead in dict.fromkeys((0, space)):  # some begin with whitespace of their own
            sign, _ = yield from self._signs.at_start.at(reader, lead)
            best = (yield from self._try(sign, lead)) if sign else None
            if best:
                self._hand_over(best, lead)
                return True
        return False

    def _meet(self, sign: str, size: int) -> Need[bool]:
        """A sign in the text: whether it begins a call, which is handed over then."""
        quotes = self._quotes
        if sign[0] == "\n":  # a call without markers, at the beginning of a line
            self._say(1)
            sign, size = yield from self._signs.at_start.at(self._reader)
        words = not is_structure(sign)
        if words and not quotes.at_line_start():
            self._say(size)
            return False
        before = self._budget
        best = yield from self._try(sign)
        if best is None:
            read = before - self._budget - _EACH
            self._say(max(size, read - _OVERLAP))
            return False
        if quotes.open() and (quoted := (yield from self._mentions.quoted(size, None))):
            self.why = self.why or "a call that is quoted is mentioned, not made"
            self._say(quoted)
            quotes.close_spans()
            return False
        self._hand_over(best)
        return True

    def _try(self, sign: str, lead: int = 0) -> Need["_Trial | None"]:
        """Let the formats read ahead that have this sign; the one that wins, if any."""
        reader, names = self._reader, self._toolset
        trials = [_Trial(one, self._tools, sign) for one in self._signs.candidates(sign)]
        reader.mark()
        reader.pos += lead
        won: list[_Trial] = []
        read = 0
        while trials and not won and read < _LIMIT:
            if reader.pos == len(reader.buf) and not reader.final:
                yield
                continue
            char = reader.buf[reader.pos : reader.pos + 1]
            reader.pos += len(char)
            read += 1
            trials = [one for one in trials if not one.refuses(char, names)]
            won = [one for one in trials if one.won]
            if not char:
                break
        text = reader.raw()
        reader.give_back(text)
        if not won:
            self._budget -= read + _EACH
        return max(won, key=lambda one: written_in(one.record, text), default=None)

    def _hand_over(self, trial: "_Trial", lead: int = 0) -> None:
        reader, record = self._reader, trial.record
        self.found = Detection(record.name, f"it reads the text as calls of {trial.name}")
        self._say(lead)
        self._parser = Parser(record, self._tools, delivery=self._delivery)
        self._events += self._parser.feed(reader.buf[reader.pos :])

    def _fenced(self) -> Need[bool]:
        """An answer that begins with a code fence. True if it is nothing but calls in fences."""
        reader = self._reader
        reader.mark()
        answer = _FencedAnswer(self._tools, self._delivery)
        while not answer.why:
            start = reader.pos
            reader.pos = reader.buf.find("\n", start) + 1 or len(reader.buf)
            over = reader.final and reader.pos == len(reader.buf)
            answer.feed(reader.buf[start : reader.pos], final=over)
            if over:
                break
            if reader.pos == len(reader.buf) and not answer.why:
                yield
        if answer.made() and self._fences:
            reader.unmark()
            self.found = answer.found
            self._events += answer.events
            return True
        self.why = answer.reason(fences=self._fences)
        reader.give_back(reader.raw())
        return False

    def _say(self, size: int) -> None:
        reader = self._reader
        text = reader.buf[reader.pos : reader.pos + size]
        reader.pos += size
        if text:
            self._quotes.see(text)
            self._events.append(TextDelta(text))


class _Trial:
    """One format on trial: `won` once it has a declared tool and the beginning of arguments."""

    __slots__ = ("_args", "_inner", "_parser", "_seen", "_sign", "name", "record", "won")

    def __init__(self, record: Format, tools: tuple[Tool, ...], sign: str) -> None:
        self.record = record
        self.name = ""
        self.won = False
        self._parser = Parser(record, tools)
        framing = record.framing
        self._inner = framing.inner if isinstance(framing, Channels) else ()
        self._sign = sign
        self._seen = ""
        self._args = ""

    def refuses(self, char: str, tools: ToolSet) -> bool:
        """Read the next character, or the end; True if this is not the format."""
        self._seen += char if self._inner else ""
        events = self._parser.feed(char) if char else self._parser.finish()
        return any(self._refuses(event, tools) for event in events)

    def _refuses(self, event: Event, tools: ToolSet) -> bool:
        if self.won:
            return False
        if isinstance(event, TextDelta | ReasoningDelta):
            # Messages hold other text, too: their headers show that they were understood.
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


class _FencedAnswer:
    """An answer read line by line, as long as it is nothing but calls in code fences."""

    __slots__ = (
        "_delivery",
        "_inner",
        "_line",
        "_ticks",
        "_tools",
        "calls",
        "events",
        "found",
        "why",
    )

    def __init__(self, tools: tuple[Tool, ...], delivery: Delivery) -> None:
        self.events: list[Event] = []
        self.found: Detection | None = None
        self.calls = 0
        self.why = ""
        self._tools = tools
        self._delivery = delivery
        self._inner: OutputDetector | None = None
        self._ticks = 0
        self._line = ""

    def made(self) -> bool:
        """Whether it was calls and nothing else."""
        return self.calls > 0 and not self.why

    def reason(self, *, fences: bool) -> str:
        """Why it is text; "" if nothing in it was like a call."""
        if not self.calls:
            return ""
        return self.why or ("" if fences else "a call in a code fence where none was demanded")

    def feed(self, text: str, *, final: bool) -> None:
        """Take the next piece; a line counts when it is complete."""
        self._line += text
        if self._line.endswith("\n") or final:
            line, self._line = self._line, ""
            self._take(line)
        if final and self._inner:
            self._close(self._inner)

    def _take(self, line: str) -> None:
        bare = line.strip()
        ticks = len(bare) - len(bare.lstrip("`"))
        if self._inner is None:
            if ticks >= len(FENCE) and "`" not in bare[ticks:]:
                self._ticks = ticks
                self._inner = OutputDetector(self._tools, delivery=self._delivery)
            elif bare:
                self.why = "text stands beside the code fence that holds the call"
        elif ticks >= self._ticks and len(bare) == ticks:
            self._close(self._inner)
        else:
            self._put(self._inner.feed(line))

    def _close(self, inner: OutputDetector) -> None:
        self._put(inner.finish())
        self.found = self.found or inner.found
        self.calls = sum(isinstance(event, CallStart) for event in self.events)
        self._inner = None

    def _put(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, CallStart | ArgsDelta | CallEnd):
                self.events.append(msgspec.structs.replace(event, index=event.index + self.calls))
                if isinstance(event, CallEnd) and not event.complete:
                    self.why = "the call in the code fence is not complete"
            elif not event_is_blank(event):
                self.why = "the code fence holds other things than calls"
        if self.why:
            self.calls = sum(isinstance(event, CallStart) for event in self.events)


def event_is_blank(event: Event) -> bool:
    """Whether an event has nothing but whitespace to say."""
    return isinstance(event, TextDelta) and event.text.isspace()
