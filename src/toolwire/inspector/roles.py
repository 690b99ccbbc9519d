"""Assigns a role to each character of a model's text: text, reasoning, marker, name or arguments.

A parser records which spans of the text are calls. The events tell what was read within a call, and
how much of the text had been fed by then. So a name, or a piece of arguments, is searched for
before that position. The rest of a call is markers: tags, brackets, and keys that the format adds.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from toolwire.formats import ArgsDelta, CallEnd, CallStart, Span
from toolwire.protocol.events import Event

SpanRole: TypeAlias = Literal["text", "reasoning", "marker", "layout", "name", "arguments"]
Placed: TypeAlias = tuple[int, Event]
"""The number of characters fed so far, and the event."""

_OF_KIND: dict[str, SpanRole] = {
    "text": "text",
    "reasoning": "reasoning",
    "call": "marker",
    "markup": "marker",
    "layout": "layout",
}
_PIECES = re.compile(r'\\u[0-9a-fA-F]{4}|\\.|[{}\[\]",:]|\s+|[^\\{}\[\]",:\s]+')
_NEAR = 65_536
_TRIES = 8
_PART = re.compile(r"\w")
_WORD = re.compile(r'[^\\{}\[\]",:\s]')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Stretch(NamedTuple):
    """The role of `text[start:end]`. `why` is the parser's reason."""

    start: int
    end: int
    role: SpanRole
    why: str = ""


def stretches(text: str, spans: Iterable[Span], events: Iterable[Placed]) -> list[Stretch]:
    """Split the text into stretches of one role each, in order and without gaps."""
    roles: list[SpanRole] = ["text"] * len(text)
    whys = [""] * len(text)
    calls: list[tuple[int, int]] = []
    for start, end, kind, why in ((s.start, s.end, s.kind, s.why) for s in spans):
        roles[start:end] = [_OF_KIND[kind]] * (end - start)
        whys[start:end] = [why] * (end - start)
        if kind == "call":
            calls.append((start, end))
    for start, end, role in _Finder(text, calls).found(list(events)):
        roles[start:end] = [role] * (end - start)
    return list(_joined(roles, whys))


def _joined(roles: list[SpanRole], whys: list[str]) -> Iterator[Stretch]:
    at = 0
    for (role, why), group in groupby(zip(roles, whys, strict=True)):
        end = at + sum(1 for _ in group)
        yield Stretch(at, end, role, why)
        at = end


class _Finder:
    """Finds names and arguments in the spans of calls, in order."""

    def __init__(self, text: str, calls: list[tuple[int, int]]) -> None:
        self._text = text
        self._calls = deque(calls)
        self._at = 0

    def found(self, events: list[Placed]) -> Iterator[tuple[int, int, SpanRole]]:
        """Yield the positions of names and arguments."""
        ends = {event.index: fed for fed, event in events if isinstance(event, CallEnd)}
        for fed, event in events:
            if isinstance(event, CallStart):
                self._begin(fed)
                yield from self._name(event.name, fed, whole=ends.get(event.index) == fed)
            elif isinstance(event, ArgsDelta):
                yield from self._arguments(event.json, fed)

    def _begin(self, fed: int) -> None:
        """Move to the span of the call whose start was reported at `fed`."""
        while self._calls and self._calls[0][1] <= self._at:
            self._calls.popleft()
        if self._calls and self._calls[0][0] < fed:
            self._at = max(self._at, self._calls[0][0])

    def _name(self, name: str, fed: int, *, whole: bool) -> Iterator[tuple[int, int, SpanRole]]:
        """Find a name. It is the first match in a whole call, and the last one in a live call."""
        start = (self._text.find if whole else self._text.rfind)(name, self._at, fed)
        if start >= 0:
            yield self._take(start, name, "name")

    def _arguments(self, json: str, fed: int) -> Iterator[tuple[int, int, SpanRole]]:
        """Find arguments. A copied piece is at the end of the fed text, or a little before it. A
        converted piece contains brackets and quotes that are not in the text."""
        if fed - len(json) >= self._at and self._text.endswith(json, self._at, fed):
            yield self._take(fed - len(json), json)
        elif len(json) > 1 and (start := self._text.find(json, *self._near(fed))) >= 0:
            yield self._take(start, json)
        else:
            before = ""
            for piece in _PIECES.findall(json):
                yield from self._piece(piece, before, fed)
                before = piece

    def _piece(self, piece: str, before: str, fed: int) -> Iterator[tuple[int, int, SpanRole]]:
        """Find one token of converted arguments. A word may be anywhere in the fed text, a bracket
        or an escape only at the current position. Quotes are skipped: most belong to attributes."""
        is_word, follows = _WORD.match(piece), _WORD.match(before)
        if piece == '"' or (piece.isspace() and not follows):
            return
        for here in dict.fromkeys((piece, _plain(piece))):
            if self._text.startswith(here, self._at, fed):
                yield self._take(self._at, here)
                return
        if is_word and (start := self._word(piece, fed)) >= 0:
            yield self._take(start, piece)

    def _word(self, word: str, fed: int) -> int:
        """Return the position of a whole word, or -1."""
        start, end = self._near(fed)
        for _ in range(_TRIES):
            start = self._text.find(word, start, end)
            after = start + len(word)
            beside = self._text[max(start - 1, 0) : start] + self._text[after : min(after + 1, end)]
            if start < 0 or not _PART.search(beside):
                return start
            start += 1
        return -1

    def _near(self, fed: int) -> tuple[int, int]:
        """Return the range to search, which is limited so that long texts stay fast."""
        return max(self._at, fed - _NEAR), fed

    def _take(
        self, start: int, taken: str, role: SpanRole = "arguments"
    ) -> tuple[int, int, SpanRole]:
        self._at = start + len(taken)
        return start, self._at, role


def _plain(escape: str) -> str:
    if escape[0] != "\\":
        return escape
    if escape[1] == "u":
        return chr(int(escape[2:], 16))
    return _ESCAPES.get(escape[1], escape[1])
