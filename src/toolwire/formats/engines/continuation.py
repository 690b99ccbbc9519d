"""What may follow a value, for family D: structure, or a parameter that no tool declares.

Where the tags are the names of declared parameters, any other tag may be an undeclared one, or part
of a value. It counts as one if it is closed soon and structure follows.
"""

import re

from toolwire.formats.arguments.scalars import look_past_space
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, Reader
from toolwire.formats.turn_ends import turn_ends_at

_TAG = re.compile(r"<(?:([A-Za-z_][\w.\-]{0,63}+)(?:>|\Z)|\Z)")
_MAX_VALUE = 4096  # characters of an undeclared parameter
_IN_A_ROW = 8


def structure_at(reader: Reader, ahead: int, *lexers: Lexer) -> Need[bool]:
    """Whether a marker, a truncated marker or the end of the text or turn is that far ahead."""
    if reader.pos + ahead >= len(reader.buf):
        return True
    for lexer in lexers:
        marker, _ = yield from lexer.at(reader, ahead)
        if marker or (reader.final and lexer.begun(reader, ahead)):
            return True
    return (yield from turn_ends_at(reader, ahead))


def undeclared_at(reader: Reader, ahead: int, body: Lexer, stop: Lexer) -> Need[tuple[str, str]]:
    """Return the name of the undeclared parameter that far ahead, or "", and the tag of the body
    behind it. More of them may be in between. Another structure may follow instead of a tag."""
    first = ""
    for _ in range(_IN_A_ROW):
        name = yield from _tag_at(reader, ahead)
        size = (yield from _element_at(reader, ahead, name)) if name else 0
        if not size:
            break
        first = first or name
        ahead = yield from look_past_space(reader, ahead + size)
        marker, _ = yield from body.at(reader, ahead)
        if marker or (yield from structure_at(reader, ahead, stop, body)):
            return first, marker
    return "", ""


def may_be_undeclared(reader: Reader, ahead: int) -> bool:
    """Whether the text ends in what may become an undeclared parameter that far ahead."""
    short = reader.final and len(reader.buf) - reader.pos - ahead < _MAX_VALUE
    return short and _TAG.match(reader.buf, reader.pos + ahead) is not None


def _tag_at(reader: Reader, ahead: int) -> Need[str]:
    """Return the name in the opening tag that far ahead, or ""."""
    while match := _TAG.match(reader.buf, reader.pos + ahead):
        if match[0].endswith(">"):
            return match[1]
        if reader.final:
            break
        yield
    return ""


def _element_at(reader: Reader, ahead: int, name: str) -> Need[int]:
    """Return the size of the element with this tag that far ahead, or 0."""
    close, seen = f"</{name}>", ahead
    limit = ahead + _MAX_VALUE
    while (found := reader.buf.find(close, reader.pos + seen, reader.pos + limit)) < 0:
        size = len(reader.buf) - reader.pos
        if reader.final or size >= limit:
            return 0
        seen = max(seen, size - len(close) + 1)
        yield
    return found + len(close) - reader.pos - ahead
