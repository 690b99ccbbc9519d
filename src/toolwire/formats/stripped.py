"""Harmony whose special tokens the backend removed: `analysis...assistantfinal...`.

Without the tokens, headers are plain words that run into the adjacent text. Words can be prose, so
this is tried only once, at the very start, and needs proof: a seam (`assistantfinal`, which does
not occur in prose) after the first section, or a header that names a known tool and leads to a
brace. Until then the text is held. Without proof it is given back and parsed as usual.
"""

import re
from dataclasses import dataclass

from toolwire.formats.channels import Channels, Target
from toolwire.formats.declared_tools import DeclaredTools
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, peek
from toolwire.formats.record import Framer
from toolwire.formats.trace import SpanKind
from toolwire.formats.turn_state import FormatEngine, Opening, TurnState

_MAX_HEADER = 256
_MAX_SECTION = 32_768  # maximum text held while waiting for proof
_SECTIONS: dict[str, Target] = {"analysis": "reasoning", "commentary": "text", "final": "text"}
_SEAM_MARKERS = {f"assistant{channel}": channel for channel in _SECTIONS}
_BEFORE_RECIPIENT = ("", " ", "assistant ", "analysis ", "commentary ")
_SEAMS = Lexer(_SEAM_MARKERS)
_FIRST = Lexer(
    dict.fromkeys(_SEAM_MARKERS, "seam")
    | dict.fromkeys(("analysis", "commentary"), "section")
    | {f"{word}to=functions.": "header" for word in _BEFORE_RECIPIENT}
)
_PROOF = Lexer(dict.fromkeys(_SEAM_MARKERS, "seam") | {"<|": "token"})
_HEADER_END = Lexer({"{": "end", "<": "no", "\n": "no"})
_HEADER = re.compile(
    r"(?:assistant)?+(?:analysis|commentary)?+ ?+to=functions\.([\w.\-]{1,128}+)"
    r"(?: ?+(?:analysis|commentary))?+(?: ?+(?:json|code))?+ ?+"
)
_GLUED = ("json", "code", "commentary", "analysis")


@dataclass(frozen=True, slots=True, eq=False)
class StrippableChannels(Channels):
    """Harmony's channels, parsed even if the backend removed their tokens."""

    def framer(self, turn: TurnState, engine: FormatEngine) -> Framer:
        """A framer for one turn."""
        return _Either(Stripped(turn, engine), Channels.framer(self, turn, engine))

    def hold_limit(self) -> int:
        """The maximum number of plain-text characters held back, apart from the wait for proof."""
        return max(Channels.hold_limit(self), _FIRST.longest)


@dataclass(frozen=True, slots=True)
class _Either:
    stripped: "Stripped"
    channels: Framer

    def run(self) -> Need[None]:
        """Read the turn without tokens if it is proven that they were removed, else as usual."""
        if not (yield from self.stripped.read()):
            yield from self.channels.run()


class Stripped:
    """Reads one turn without special tokens."""

    __slots__ = ("_engine", "_reader", "_sink", "_target", "_turn")

    def __init__(self, turn: TurnState, engine: FormatEngine) -> None:
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
            start, end, seam = _SEAMS.search(self._reader)
            self._say(start - self._reader.pos)
            if seam:
                yield from self._seam(seam, end - start)
            elif self._reader.final:
                return True
            else:
                yield
            if seam == "assistantfinal":
                break  # the last section has no seam
        yield from self._rest()
        return True

    def _begin(self) -> Need[bool]:
        """Whether the beginning is proof. If so, consume the first section."""
        marker, size = yield from _FIRST.at(self._reader)
        if not marker:
            return False
        if _FIRST.kinds[marker] == "seam":
            return True
        if _FIRST.kinds[marker] == "header":
            return (yield from self._call())
        ahead = (yield from peek(self._reader, size + 1))[size:]
        if not ahead.isalpha() or ahead.islower():
            return False
        return (yield from self._first_section(marker))

    def _first_section(self, channel: str) -> Need[bool]:
        """Look for the seam after the first section, holding all text until then."""
        reader = self._reader
        begin = reader.offset
        reader.mark()
        reader.pos += len(channel)
        while True:
            start, _, marker = _PROOF.search(reader)
            reader.pos = start
            too_long = reader.offset - begin > _MAX_SECTION
            if marker in _SEAM_MARKERS and not too_long:
                break
            if marker or reader.final or too_long:
                reader.give_back(reader.raw())
                return False
            yield
        text = reader.raw()[len(channel) :]
        self._target = _SECTIONS[channel]
        (self._sink.text if self._target == "text" else self._sink.reasoning)(text)
        self._trace(begin, "markup", begin + len(channel))
        self._trace(begin + len(channel), self._target_kind(), reader.offset)
        return True

    def _seam(self, seam: str, size: int) -> Need[None]:
        """Begin a section. One addressed to a tool is a call."""
        channel = _SEAM_MARKERS[seam]
        addressed = (yield from peek(self._reader, size + 4))[size:] == " to="
        if addressed and (yield from self._call()):
            return
        start = self._reader.offset
        self._reader.pos += size
        self._trace(start, "markup")
        self._target = _SECTIONS[channel]

    def _call(self) -> Need[bool]:
        """Read a header and the arguments of a known tool, or consume nothing."""
        reader, sink = self._reader, self._sink
        found = yield from _HEADER_END.read_to(reader, _MAX_HEADER)
        name = _tool_of(found[0], self._turn.tools) if found and found[1] == "{" else ""
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
        turn.broken = False
        refused = reader.raw()
        sink.text(refused)
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


def _tool_of(header: str, tools: DeclaredTools) -> str:
    """Return the known tool that a header addresses, even with words glued to its name; or ""."""
    match = _HEADER.fullmatch(header)
    name = match[1] if match else ""
    for word in ("", *_GLUED):
        name = name.removesuffix(word) if not tools.known(name) else name
    return name if tools.known(name) else ""
