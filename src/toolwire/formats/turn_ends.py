"""The tokens that end a turn, which some servers pass on at the end of the text."""

from toolwire.formats.lexer import Lexer
from toolwire.formats.markers import TURN_ENDS
from toolwire.formats.reader import Need, Reader

_MOST = 256  # maximum length of the tokens and the whitespace at the end of an answer
TURN_END_LEXER = Lexer(dict.fromkeys(TURN_ENDS, "end"))


def may_end_turn(token: str, line: str) -> bool:
    """Whether this token may end the turn behind `line`. Behind a space it belongs to a sentence,
    and `</s>` behind `<s>` is HTML."""
    is_closed = token.startswith("</") and token.replace("/", "") in line
    return not (line[-1:].isspace() or is_closed)


def tokens_ahead(
    reader: Reader, ends: Lexer = TURN_END_LEXER, *, size: int = 0
) -> Need[tuple[int, bool]]:
    """Return the distance to the end of such tokens, and of whitespace between them, and whether
    nothing follows. They begin `size` characters from here."""
    most = size + _MOST
    while size < most:
        marker, more = yield from ends.at(reader, size)
        while reader.pos + size >= len(reader.buf) and not reader.final:
            yield
        char = reader.buf[reader.pos + size : reader.pos + size + 1]
        if not marker and not char.isspace():
            return size, not char
        size += more or 1
    return size, False


def turn_ends_at(reader: Reader, ahead: int = 0) -> Need[bool]:
    """Whether such a token, or the beginning of one, is there, and nothing else up to the end of
    the text."""
    marker, _ = yield from TURN_END_LEXER.at(reader, ahead)
    if not marker:
        return reader.final and TURN_END_LEXER.begun(reader, ahead)
    return (yield from tokens_ahead(reader, size=ahead))[1]
