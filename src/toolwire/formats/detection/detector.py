"""Finds calls in an unexpected format while the text streams.

A turn uses it instead of a parser, or after one, on the text that the parser leaves over:

    detector = OutputDetector(tools)
    for delta in deltas:
        events = detector.feed(delta)       # text as it comes; a call's events once one is found
    events = detector.finish()
    detector.found                          # the format, to remember for the model; or None
    detector.why                            # why something like a call stayed text; or ""

Theory of operation. Plain text costs one search for characters that can begin a sign of a call, and
passes at once. At a sign (`signatures.py`), every format that has this sign reads on in lockstep,
character by character, so chunk boundaries do not matter. The first format that finds the name of a
declared tool and the beginning of its arguments wins, and reads the rest of the turn. If none does,
the sign was text. A sign inside closed Markdown or quotation marks is a mention.

If `fences` is set (a call was required, or tools are in the prompt, or the model never called
natively), an answer that consists only of code fences with calls becomes these calls. With
`only_fences` nothing else is detected, and with `only_start` no call behind other text: `over` is
set as soon as the answer begins differently.
"""

from collections.abc import Iterable
from functools import partial

from toolwire.formats.detection.detect import Detection
from toolwire.formats.detection.fenced_answer import FencedAnswer, Inner, PythonCalls
from toolwire.formats.detection.signatures import TAG, is_structure, signatures, without_tags
from toolwire.formats.detection.tool_names import ToolNames
from toolwire.formats.detection.trial import Trial, likeness, way_of_calling
from toolwire.formats.parser import Delivery, Parser
from toolwire.formats.quoting.mentions import Mentions
from toolwire.formats.quoting.quotes import FENCE, Quotes
from toolwire.formats.reader import Need, Reader, peek
from toolwire.formats.record import Format
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.turn_ends import may_end_turn, tokens_ahead
from toolwire.protocol.events import Event, TextDelta
from toolwire.protocol.tools import ToolSpec

_LIMIT = 1024  # maximum text held before one of the formats must have won
_OVERLAP = 64  # after all formats gave up, a sign may have begun this far back
_BUDGET = 2_000  # characters tried, in vain or as mentions, before detection stops
_TAGS = 200  # lines that begin with a tag, before tags are no longer compared with the tools
_EACH = 64  # cost of starting a trial, in characters
_PLAIN = 256  # plain pieces kept before they are scanned
_BEFORE = 4_096  # characters of the answer that are kept to tell formats apart
_PYTHON_FENCE = f"{FENCE}python\n"


class OutputDetector:
    """Reads one turn whose format is unknown. Never raises on model text."""

    __slots__ = (
        "_before",
        "_budget",
        "_delivery",
        "_events",
        "_fences",
        "_idle",
        "_in_fence",
        "_mentions",
        "_names",
        "_only_fences",
        "_only_start",
        "_parser",
        "_plain",
        "_quotes",
        "_rare",
        "_reader",
        "_run",
        "_signs",
        "_tags_left",
        "_tools",
        "_toolset",
        "found",
        "over",
        "why",
    )

    def __init__(
        self,
        tools: Iterable[ToolSpec],
        *,
        fences: bool = False,
        only_fences: bool = False,
        only_start: bool = False,
        in_fence: bool = False,
        delivery: Delivery = "live",
    ) -> None:
        """`in_fence`: the text is the content of a code fence, in which another one is text."""
        self.found: Detection | None = None
        self.over = False
        """Whether detection has stopped: all further input is text."""
        self.why = ""
        self._only_fences = only_fences
        self._only_start = only_start or only_fences
        self._tools = tuple(tools)
        self._toolset = DeclaredTools(self._tools)
        self._signs = signatures()
        self._rare = self._signs.rare.search
        self._plain: list[str] = []
        self._before = (
            ""  # the beginning of the answer, which tells formats with the same sign apart
        )
        self._fences = fences
        self._in_fence = in_fence
        self._delivery = delivery
        self._budget = _BUDGET
        self._tags_left = _TAGS
        self._idle = False  # nothing is held, and detection is on
        self._reader = Reader()
        self._quotes = Quotes()
        self._mentions = Mentions(self._reader, self._quotes)
        self._names = ToolNames(self._reader, self._toolset)
        self._events: list[Event] = []
        self._parser: Parser | None = None
        self._run = self._read()
        if self._tools:
            next(self._run)

    @property
    def spoken(self) -> bool:
        """Whether there is text so far, or a call."""
        return self.found is not None or self.over or bool(self._plain or self._before.strip())

    def again(self) -> "OutputDetector":
        """Return a detector of the same calls for another text. Fences do not count in it."""
        return OutputDetector(
            self._tools,
            only_fences=self._only_fences,
            only_start=self._only_start,
            delivery=self._delivery,
        )

    @property
    def held(self) -> int:
        """The number of characters currently held back."""
        return 0 if self._parser else self._reader.held()

    @property
    def waiting(self) -> bool:
        """Whether more than whitespace is held back."""
        return self._parser is None and self._reader.waiting

    def feed(self, text: str) -> list[Event]:
        """Consume the next piece of the turn. Return the events that are now certain."""
        if self._parser:
            return self._parser.feed(text)
        if self.over:
            return [TextDelta(text)] if text else []
        if not self._tools or (self._idle and not self._rare(text)):
            self._plain.append(text)
            if len(self._plain) > _PLAIN:
                self._see_plain()
            return [TextDelta(text)] if text else []
        self._see_plain()
        self._reader.add(text)
        return self._take()

    def finish(self) -> list[Event]:
        """End the turn. Return the remaining events."""
        if self._parser or self.over or not self._tools:
            return self._parser.finish() if self._parser else []
        self._see_plain()
        self._reader.add("")
        self._reader.final = True
        events = self._take()
        return [*events, *self._parser.finish()] if self._parser else events

    def _see_plain(self) -> None:
        """Keep plain text: it is scanned only once a sign follows."""
        if self._plain:
            self._see("".join(self._plain))
            self._plain.clear()

    def _see(self, text: str) -> None:
        self._quotes.see(text)
        if len(self._before) < _BEFORE:
            self._before += text[:_BEFORE]

    def _take(self) -> list[Event]:
        next(self._run, None)
        events, self._events = self._events, []
        return events

    def _read(self) -> Need[None]:
        """Read the turn until a call begins."""
        reader = self._reader
        if (yield from self._begin()):
            return
        if self._only_start:
            self._stop()
            return
        while True:
            lexer = self._signs.anywhere if self._tags_left else without_tags()
            start, end, sign = lexer.search(reader)
            if start > reader.pos:
                self._say(start - reader.pos)
            if sign and self._budget <= 0:
                self.why = self.why or "too much text looked like calls and was not"
                self._stop()
                return
            if lexer.kinds.get(sign) == "end":
                yield from self._end(sign, end - start)
            elif sign:
                if (yield from self._meet(sign, end - start)):
                    return
            elif reader.final:
                return
            else:
                self._idle = reader.pos == len(reader.buf)
                yield
                self._idle = False

    def _end(self, token: str, size: int) -> Need[None]:
        """Drop tokens that end the turn. Before anything else, or in Markdown, they are text."""
        quotes, last = self._quotes, False
        if not quotes.marked() and may_end_turn(token, quotes.line):
            size, last = yield from tokens_ahead(self._reader)
        if last:
            self._reader.pos += size
        else:
            self._say(size)

    def _stop(self) -> None:
        """Stop detection: the rest is text."""
        self.over = True
        self._say(len(self._reader.buf) - self._reader.pos)

    def _begin(self) -> Need[bool]:
        """Read the start of the answer, where calls need no markers. True if one was found."""
        reader = self._reader
        space = yield from self._names.space(0)
        ahead = (yield from peek(reader, space + 1))[space:]
        if ahead == "`" and not self._in_fence:
            ahead = (yield from peek(reader, space + len(FENCE)))[space:]
            own_fence, _ = yield from self._signs.at_start.at(reader, space)
            if ahead == FENCE and not own_fence:
                return (yield from self._fenced(counts=self._fences))
        if self._only_fences:
            return False
        head = yield from self._names.head(space)
        if head.endswith("("):
            return (yield from self._fenced(_PYTHON_FENCE, counts=True))
        if head and (best := (yield from self._try_named(head, space))):
            self._hand_over(best, space)
            return True
        for lead in dict.fromkeys((0, space)):  # some calls begin with whitespace
            sign, _ = yield from self._signs.at_start.at(reader, lead)
            ones = self._signs.candidates(sign) if sign else ()
            best = (yield from self._try(sign, ones, lead)) if sign else None
            if best:
                self._hand_over(best, lead)
                return True
        return False

    def _try_named(self, head: str, lead: int) -> Need[Trial | None]:
        """Try the formats that begin with a tool's name."""
        if head[0] == "<":
            return (yield from self._try(head, self._signs.tags, lead))
        if (yield from self._names.has_arguments(head.rstrip(), lead + len(head))):
            return (yield from self._try(head, self._signs.lines, lead))
        return None

    def _try_tag(self, tag: str) -> Need[Trial | None]:
        """Try the formats whose tags are the names of tools. In the middle of an answer such a tag
        counts only with a parameter of the tool."""
        lead = yield from self._names.space(len(tag))
        if (yield from peek(self._reader, lead + 1))[lead:] == "{":
            is_call = yield from self._names.has_arguments(tag[1:-1], lead)
            empty = (yield from peek(self._reader, lead + 2))[lead:] == "{}"
            return (yield from self._try(tag, self._signs.tags)) if is_call and not empty else None
        best = yield from self._try(tag, self._signs.tags)
        return best if best is not None and best.has_argument else None

    def _meet(self, sign: str, size: int) -> Need[bool]:
        """Handle a sign in the text. If it begins a call, hand over to the format."""
        quotes = self._quotes
        tag = sign == TAG
        if tag:
            self._tags_left -= 1
            self._say(1)
            sign = yield from self._names.tag()
            size = len(sign)
            if not sign:
                return False
        elif sign[0] == "\n":  # a call without markers, at the start of a line
            self._say(1)
            sign, size = yield from self._signs.at_start.at(self._reader)
        words = not is_structure(sign)
        if words and not quotes.at_line_start():
            self._say(size)
            return False
        before = self._budget
        ones = self._signs.candidates(sign)
        best = (yield from self._try(sign, ones)) if ones else None
        if best is None and tag:
            best = yield from self._try_tag(sign)
        if best is None:
            read = before - self._budget - _EACH
            self._say(max(size, read - _OVERLAP))
            return False
        if quotes.open():
            start = None if quotes.fenced else best.start(self._toolset)
            if quoted := (yield from self._mentions.quoted(size, start)):
                self.why = self.why or "a call that is quoted is mentioned, not made"
                self._say(quoted)
                quotes.close()
                return False
        self._hand_over(best)
        return True

    def _try(self, sign: str, formats: tuple[Format, ...], lead: int = 0) -> Need[Trial | None]:
        """Let every format with this sign read ahead. Return the winner, if any."""
        reader, names = self._reader, self._toolset
        ways = {way_of_calling(one): one for one in reversed(formats)}
        every = {way: Trial(one, self._tools, sign) for way, one in ways.items()}
        trials = list(every.values())
        reader.mark()
        reader.pos += lead
        won: list[Trial] = []
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
        self._budget -= read + _EACH
        winners = [one for one in formats if every[way_of_calling(one)] in won]
        if not winners:
            return None
        record = max(winners, key=lambda one: likeness(one, sign, self._before, text))
        best = every[way_of_calling(record)]
        best.record = record
        return best

    def _hand_over(self, trial: Trial, lead: int = 0) -> None:
        reader, record = self._reader, trial.record
        self.found = Detection(record.name, f"it reads the text as calls of {trial.name}")
        self._say(lead)
        self._parser = Parser(record, self._tools, delivery=self._delivery)
        self._events += self._parser.feed(reader.buf[reader.pos :])

    def _fenced(self, opened: str = "", *, counts: bool) -> Need[bool]:
        """Read an answer that begins with a code fence, or as if it had been `opened` before. True
        if it is only calls, and such an answer `counts`."""
        reader = self._reader
        reader.mark()
        delivery: Delivery = "live" if self._delivery == "live" else "whole"
        answer = FencedAnswer(partial(_inside, self._tools, delivery))
        answer.feed(opened, final=False)
        while not answer.why:
            start = reader.pos
            reader.pos = reader.buf.find("\n", start) + 1 or len(reader.buf)
            over = reader.final and reader.pos == len(reader.buf)
            answer.feed(reader.buf[start : reader.pos], final=over)
            if over:
                break
            if reader.pos == len(reader.buf) and not answer.why:
                yield
        if answer.made() and counts:
            reader.unmark()
            self.found = answer.found
            self._events += answer.events
            return True
        self.why = answer.reason(fences=counts)
        reader.give_back(reader.raw())
        return False

    def _say(self, size: int) -> None:
        reader = self._reader
        text = reader.buf[reader.pos : reader.pos + size]
        reader.pos += size
        if text:
            self._see(text)
            self._events.append(TextDelta(text))


def _inside(tools: tuple[ToolSpec, ...], delivery: Delivery, language: str) -> Inner:
    """Return what reads the content of a code fence."""
    if language in ("python", "py"):
        return PythonCalls(tools, delivery)
    return OutputDetector(tools, in_fence=True, delivery=delivery)
