"""Family B: the name is in a header, followed by the arguments as one JSON object."""

import json
import re
from functools import lru_cache, partial
from typing import Protocol, TypeAlias

import msgspec

from toolwire.formats.arguments import json_text
from toolwire.formats.engines.begin import Begin, spaced
from toolwire.formats.engines.json_layout import begins_arguments, ends_call
from toolwire.formats.engines.raw_body import RawBody
from toolwire.formats.engines.surplus import pass_surplus
from toolwire.formats.lexer import Lexer
from toolwire.formats.quoting.quotes import FENCE
from toolwire.formats.reader import Need, peek, skip_space
from toolwire.formats.turn_state import (
    FormatEngine,
    Opening,
    TurnState,
    finish_call,
    start_call,
)

_SPACE = 64
_MAX_HEAD = 512
_FENCE_LINE = re.compile(r"`{3}+\w{0,16}+")
_CODE = "code"
_NOTHING = ("null", "None")
_ENCODED = ('"', "[")

_NAME = re.compile(r"[^\s<>{}\[\]()\"'`,;|]{1,128}+")
_AROUND = r"*`\"'\[\]()"  # what models write around a name between words
_MARKER = r"\[|<(?!\w{1,32}+=)"  # what may end a header without arguments
_IN_HEAD = r"[^<>{}\[\]()\"'`,;|]"

CallHeader: TypeAlias = tuple[str | None, str | None]
"""A parsed header: the name ("" if missing, None if it is not a header) and the id."""


class HeadParser(Protocol):
    """Takes a header apart. `fields` are the markers between its parts."""

    @property
    def fields(self) -> tuple[str, ...]: ...

    def parse(self, text: str) -> CallHeader: ...


def plain_name(text: str) -> str | None:
    """Return `text` as a tool's name, or None."""
    name = text.strip()
    return name if _NAME.fullmatch(name) else None


class PlainHead(msgspec.Struct, frozen=True):
    """The header is the name."""

    fields: tuple[str, ...] = ()

    def parse(self, text: str) -> CallHeader:
        """See `HeadParser.parse`."""
        return plain_name(text), None


class HeadJson(msgspec.Struct, frozen=True, eq=False):
    """A header, a separator, JSON.

    `separators` end the header and are consumed; with `brace` the JSON itself ends it. `head` takes
    the header apart. `raw` reads a body that is not JSON, if the model calls some tools that way.
    `broken_body`: the framing proves that the body is that of a call, so invalid JSON is still its
    arguments, and an empty body means that there are none. A tool whose only property is `code` may
    get plain code.
    """

    separators: tuple[str, ...] = ()
    brace: bool = False
    head: HeadParser = PlainHead()
    raw: FormatEngine | None = None
    broken_body: bool = False

    def begins(self, *, bare: bool) -> Begin:  # noqa: ARG002  # no format has it bare
        """A name followed by a possible end of the header, or too long to tell."""
        if _in_words(self):
            around = rf"[{_AROUND}]{{0,3}}+"
            word = rf"[\w.\-]{{1,128}}+{around}{spaced(_separator_lexer(self).ahead)}"
            return Begin(spaced(rf"{around}(?:\Z|{word})"), "no header of a call")
        least = int(not self.head.fields)  # the first part may be empty
        end = rf"\Z|{_IN_HEAD}|{_MARKER}|{_head_end(self).ahead}"
        head = rf"(?:\Z|{_IN_HEAD}{{{least},160}}+(?:{end}))"
        return Begin(head, "no header of a call")

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read one header and its arguments."""
        written, provider_id, alone = opening.name or None, None, False
        if not written:
            head, alone = yield from self._read_head(turn)
            written, provider_id = self.head.parse(head) if head is not None else (None, None)
            if _in_words(self) and head is not None:
                written = plain_name(head.strip().strip(_AROUND))
            if written and alone and (turn.reader.final or not _in_words(self)):
                size = len(head or "")
                return (yield from self._read_nothing(turn, written, provider_id, size))
        if written is None or (alone and _in_words(self)):
            return turn.refuse("no header of a call")
        name = turn.tools.resolve(written)
        if opening.strict and name and not turn.tools.allows(name):
            return turn.refuse(f"{name[:80]!r} is not a known tool")
        fenced = yield from self._open_fence(turn)
        char = yield from skip_space(turn.reader, _SPACE)
        if fenced and char == "`" and _needs_nothing(turn, name, stopped=True):
            clean = yield from _empty_call(turn, name, provider_id)
        elif char != "{":
            clean = yield from self._read_raw(turn, name, provider_id)
        elif name:
            clean = yield from _copy_arguments(turn, name, provider_id)
        else:
            clean = yield from _infer_name(turn, provider_id)
        return clean and (yield from self._pass_end(turn, fenced=fenced))

    @staticmethod
    def _read_nothing(
        turn: TurnState, written: str, provider_id: str | None, size: int
    ) -> Need[bool]:
        """Read a header without a body: a call of a known tool without arguments."""
        name = turn.tools.resolve(written)
        stopped = size < len(turn.reader.buf) - turn.reader.pos
        if not _needs_nothing(turn, name, stopped=stopped):
            return turn.refuse("no arguments behind the header")
        turn.reader.pos += size
        return (yield from _empty_call(turn, name, provider_id))

    def _read_raw(self, turn: TurnState, name: str, provider_id: str | None) -> Need[bool]:
        """Read a body that is not JSON: one argument, no arguments, or malformed."""
        stopped = bool((yield from turn.stop.at(turn.reader))[0])
        ended = stopped or turn.reader.pos == len(turn.reader.buf)
        if (self.broken_body and stopped) or (
            ended and _needs_nothing(turn, name, stopped=stopped)
        ):
            return (yield from _empty_call(turn, name, provider_id))
        if self.broken_body and tuple(turn.tools.properties(name)) == (_CODE,):
            return (yield from RawBody().read(turn, Opening(strict=False, name=name)))
        if self.broken_body and turn.sink.live:
            start_call(turn, name, provider_id)
            return (yield from finish_call(turn, ok=False, json=True))
        if self.raw is None and not (ended or self.broken_body):
            return (yield from _read_encoded(turn, name, provider_id))
        if self.raw is None or ended:
            return turn.refuse("no arguments behind the header")
        return (yield from self.raw.read(turn, Opening(strict=False, name=name)))

    def _read_head(self, turn: TurnState) -> Need[tuple[str | None, bool]]:
        """Read the header and its separator. Return None if there is no separator.

        A lone header, up to a marker or the end of the text, is not consumed; the second result is
        True then.
        """
        reader, lexer = turn.reader, _head_lexer(self, turn.stop)
        found = yield from lexer.read_to(reader, _MAX_HEAD)
        if found is None:
            return (reader.buf[reader.pos :], True) if reader.final else (None, False)
        head, marker, size = found
        if lexer.kinds[marker] == "stop":
            return head, True
        reader.pos += len(head) + (0 if marker[0] in "{`" else size)
        return head, False

    def _open_fence(self, turn: TurnState) -> Need[bool]:
        reader = turn.reader
        if (yield from skip_space(reader, _SPACE)) != "`":
            return False
        yield from peek(reader, 20)
        match = _FENCE_LINE.match(reader.buf, reader.pos)
        reader.pos = match.end() if match else reader.pos
        return match is not None

    @staticmethod
    def _pass_end(turn: TurnState, *, fenced: bool) -> Need[bool]:
        """Pass surplus brackets and the end of the fence. Always returns True."""
        yield from pass_surplus(turn, fenced=fenced)
        reader = turn.reader
        while (yield from skip_space(reader, _SPACE)) == "`":
            ahead = yield from peek(reader, len(FENCE))
            size = len(ahead) - len(ahead.lstrip("`"))
            if not (fenced and FENCE.startswith(ahead)):  # it may be cut off
                marker, _ = yield from turn.stop.at(reader, size)
                if not marker:
                    break
            reader.pos += size
            turn.settle()
            fenced = False
        return True


@lru_cache(maxsize=64)
def _in_words(engine: HeadJson) -> bool:
    """Whether plain words end the header. Without them it is a sentence, not a call."""
    return any(re.match(_IN_HEAD, separator) for separator in engine.separators)


@lru_cache(maxsize=64)
def _separator_lexer(engine: HeadJson) -> Lexer:
    markers = dict.fromkeys(engine.separators, "end")
    if engine.brace:
        markers["{"] = "end"
        markers["```"] = "end"
    return Lexer(markers)


@lru_cache(maxsize=64)
def _head_lexer(engine: HeadJson, stop: Lexer) -> Lexer:
    return Lexer({**dict.fromkeys(stop.kinds, "stop"), **_separator_lexer(engine).kinds})


@lru_cache(maxsize=64)
def _head_end(engine: HeadJson) -> Lexer:
    """A pattern for what may follow the first word of a header."""
    fields = dict.fromkeys(engine.head.fields, "field")
    return Lexer({**_separator_lexer(engine).kinds, **fields})


def _needs_nothing(turn: TurnState, name: str, *, stopped: bool) -> bool:
    """Whether this may be a call without arguments. If truncated, only if the tool has none."""
    return turn.tools.known(name) and (stopped or not turn.tools.properties(name))


def _empty_call(turn: TurnState, name: str, provider_id: str | None) -> Need[bool]:
    start_call(turn, name, provider_id)
    turn.sink.args("{}")
    return (yield from finish_call(turn, ok=True))


def _copy_arguments(turn: TurnState, name: str, provider_id: str | None) -> Need[bool]:
    if not (yield from begins_arguments(turn, name)):
        return turn.refuse("the arguments are not JSON")
    start_call(turn, name, provider_id)
    copied = yield from json_text.copy_value(turn.reader, turn.sink.args, partial(ends_call, turn))
    return (yield from finish_call(turn, ok=copied, json=True))


def _read_encoded(turn: TurnState, name: str, provider_id: str | None) -> Need[bool]:
    """Read arguments that are encoded as a string, or that say that there are none."""
    held: list[str] = []
    copied = yield from _pass_nothing(turn)
    if copied:
        held.append("{}")
    elif (yield from peek(turn.reader, 1)) in _ENCODED:
        copied = yield from json_text.copy_value(turn.reader, held.append)
    arguments = json_text.read_object("".join(held)) if copied and name else ""
    if not arguments:
        return turn.refuse("no arguments behind the header")
    start_call(turn, name, provider_id)
    turn.sink.args(arguments)
    return (yield from finish_call(turn, ok=True))


def _pass_nothing(turn: TurnState) -> Need[bool]:
    """Pass a word for no arguments, if nothing else is on its line."""
    reader = turn.reader
    word = yield from json_text.bare_token(reader)
    behind = (yield from peek(reader, len(word) + 1))[len(word) :]
    if word not in _NOTHING:
        return False
    if behind and behind not in "\r\n" and not (yield from turn.stop.at(reader, len(word)))[0]:
        return False
    reader.pos += len(word)
    return True


def _infer_name(turn: TurnState, provider_id: str | None) -> Need[bool]:
    """Infer the missing name from the arguments, or from the only tool that has such arguments."""
    held: list[str] = []
    if not (yield from json_text.copy_value(turn.reader, held.append)):
        return turn.refuse("the arguments are not JSON")
    arguments = "".join(held)
    fields = json.loads(arguments)
    name = fields.get("name")
    inner = fields.get("arguments", fields.get("parameters"))
    if isinstance(name, str) and isinstance(inner, dict):
        arguments = json.dumps(inner, ensure_ascii=False)
    else:
        name = turn.tools.fitting(fields)
    if not name:
        return turn.refuse("the header names no tool and no single tool fits the arguments")
    start_call(turn, turn.tools.resolve(name), provider_id)
    turn.sink.args(arguments)
    return (yield from finish_call(turn, ok=True))
