"""A message format whose special tokens the backend removed: `analysis...assistantfinal...`.

Without the tokens, headers are plain words that run into the adjacent text. Words can be prose, so
this is tried only once, at the very start, and needs proof: a seam (`assistantfinal`, which does
not occur in prose) after the first section, or a header that names a known tool and leads to a
brace. Until then the text is held. Without proof it is given back and parsed as usual.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from toolwire.formats.channels import Channels, Target
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, peek
from toolwire.formats.record import Framer
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.trace import SpanKind
from toolwire.formats.turn_state import FormatEngine, Opening, TurnState

_MAX_HEADER = 256
_MAX_SECTION = 32_768  # maximum text held while waiting for proof


class HeaderWords(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The words of headers that stay when their tokens are removed.

    `role` precedes a channel. `channels` may be followed by others, and `last` ends the answer.
    `recipient` precedes a tool's name, and one of `types` may follow it.
    """

    role: str
    channels: dict[str, Target]
    last: str
    recipient: str
    types: tuple[str, ...]


class _Words(msgspec.Struct, frozen=True):
    """The lexers and patterns of some header words. A seam is a role and a channel."""

    seams: Lexer
    first: Lexer
    proof: Lexer
    header: re.Pattern[str]
    glued: tuple[str, ...]


@lru_cache(maxsize=8)
def _words(words: HeaderWords) -> _Words:
    seams = {f"{words.role}{channel}": "seam" for channel in (*words.channels, words.last)}
    before = ("", " ", f"{words.role} ", *(f"{channel} " for channel in words.channels))
    sections = dict.fromkeys(words.channels, "section")
    headers = {f"{word}{words.recipient}": "header" for word in before}
    channel, kind = _any(words.channels), _any(words.types)
    return _Words(
        seams=Lexer(seams),
        first=Lexer(seams | sections | headers),
        proof=Lexer(seams | {"<|": "token"}),
        header=re.compile(
            rf"(?:{words.role})?+(?:{channel})?+ ?+{re.escape(words.recipient)}([\w.\-]{{1,128}}+)"
            rf"(?: ?+(?:{channel}))?+(?: ?+(?:{kind}))?+ ?+"
        ),
        glued=(*words.types, *words.channels),
    )


def _any(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, words))


_HEADER_END = Lexer({"{": "end", "<": "no", "\n": "no"})


class StrippableChannels(Channels, frozen=True, eq=False, kw_only=True):
    """Channels that are parsed even if the backend removed their tokens."""

    words: HeaderWords

    def framer(self, turn: TurnState, engine: FormatEngine) -> Framer:
        """A framer for one turn."""
        stripped = Stripped(self.words, turn, engine)
        return _Either(stripped, Channels.framer(self, turn, engine))

    def hold_limit(self) -> int:
        """The maximum number of plain-text characters held back, apart from the wait for proof."""
        return max(Channels.hold_limit(self), _words(self.words).first.longest)


class _Either(msgspec.Struct, frozen=True):
    stripped: "Stripped"
    channels: Framer

    def run(self) -> Need[None]:
        """Read the turn without tokens if it is proven that they were removed, else as usual."""
        if not (yield from self.stripped.read()):
            yield from self.channels.run()


class Stripped:
    """Reads one turn without special tokens."""

    __slots__ = ("_engine", "_header_words", "_reader", "_sink", "_target", "_turn", "_words")

    def __init__(self, words: HeaderWords, turn: TurnState, engine: FormatEngine) -> None:
        self._header_words = words
        self._words = _words(words)
        self._turn = turn
        self._reader = turn.reader
        self._sink = turn.sink
        self._engine = engine
        self._target: Target = "text"

    def read(self) -> Need[bool]:
        """Read the whole turn. False, with nothing consumed, if it is not such a turn."""
        if not (yield from self._begin()):
            return False
        while True:
            start, end, seam = self._words.seams.search(self._reader)
            self._say(start - self._reader.pos)
            if seam:
                yield from self._seam(seam, end - start)
            elif self._reader.final:
                return True
            else:
                yield
            if seam and self._channel(seam) == self._header_words.last:
                break  # no seam follows the last section
        yield from self._rest()
        return True

    def _begin(self) -> Need[bool]:
        """Whether the beginning is proof. If so, consume the first section."""
        first = self._words.first
        marker, size = yield from first.at(self._reader)
        if not marker:
            return False
        if first.kinds[marker] == "seam":
            return True
        if first.kinds[marker] == "header":
            return (yield from self._call())
        ahead = (yield from peek(self._reader, size + 1))[size:]
        if not ahead.isalpha() or ahead.islower():
            return False
        return (yield from self._first_section(marker))

    def _first_section(self, channel: str) -> Need[bool]:
        """Look for the seam after the first section, holding all text until then."""
        reader, proof = self._reader, self._words.proof
        begin = reader.offset
        reader.mark()
        reader.pos += len(channel)
        while True:
            start, _, marker = proof.search(reader)
            reader.pos = start
            too_long = reader.offset - begin > _MAX_SECTION
            if proof.kinds.get(marker) == "seam" and not too_long:
                break
            if marker or reader.final or too_long:
                reader.give_back(reader.raw())
                return False
            yield
        text = reader.raw()[len(channel) :]
        self._target = self._target_of(channel)
        (self._sink.text if self._target == "text" else self._sink.reasoning)(text)
        self._trace(begin, "markup", begin + len(channel))
        self._trace(begin + len(channel), self._target_kind(), reader.offset)
        return True

    def _seam(self, seam: str, size: int) -> Need[None]:
        """Begin a section. One addressed to a tool is a call."""
        recipient = f" {self._header_words.recipient}"
        ahead = (yield from peek(self._reader, size + len(recipient)))[size:]
        if ahead == recipient and (yield from self._call()):
            return
        start = self._reader.offset
        self._reader.pos += size
        self._trace(start, "markup")
        self._target = self._target_of(self._channel(seam))

    def _channel(self, seam: str) -> str:
        return seam.removeprefix(self._header_words.role)

    def _target_of(self, channel: str) -> Target:
        return self._header_words.channels.get(channel, "text")

    def _call(self) -> Need[bool]:
        """Read a header and the arguments of a known tool, or consume nothing."""
        reader = self._reader
        found = yield from _HEADER_END.read_to(reader, _MAX_HEADER)
        name = self._tool_of(found[0], self._turn.tools) if found and found[1] == "{" else ""
        if not found or not name:
            return False
        turn = self._turn
        turn.begun = reader.offset
        reader.mark()
        reader.pos += len(found[0])
        self._target = "text"
        if (yield from self._engine.read(turn, Opening(strict=True, name=name))):
            reader.unmark()
            self._trace(turn.begun, "call")
            return True
        refused = reader.raw()
        turn.give_up(refused, cut=reader.final and reader.pos == len(reader.buf))
        turn.broken = False
        self._trace(turn.begun, "text", reader.offset, turn.why)
        return True

    def _rest(self) -> Need[None]:
        """Pass the rest of the text as it arrives."""
        while True:
            self._say(len(self._reader.buf) - self._reader.pos)
            if self._reader.final:
                return
            yield

    def _say(self, size: int) -> None:
        reader = self._reader
        text = reader.buf[reader.pos : reader.pos + size]
        (self._sink.text if self._target == "text" else self._sink.reasoning)(text)
        start = reader.offset
        reader.pos += size
        self._trace(start, self._target_kind())

    def _target_kind(self) -> SpanKind:
        return "text" if self._target == "text" else "reasoning"

    def _trace(self, start: int, kind: SpanKind, end: int | None = None, why: str = "") -> None:
        if self._turn.trace is not None:
            self._turn.trace.add(start, self._reader.offset if end is None else end, kind, why)

    def _tool_of(self, header: str, tools: DeclaredTools) -> str:
        """Return the known tool that a header addresses, even with words glued to it; or ""."""
        match = self._words.header.fullmatch(header)
        name = match[1] if match else ""
        for word in ("", *self._words.glued):
            name = name.removesuffix(word) if not tools.known(name) else name
        return name if tools.known(name) else ""
