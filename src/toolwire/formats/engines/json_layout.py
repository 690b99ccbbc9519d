"""What stands around and between the members of JSON calls: strings, layout, separators, fences."""

import json
import re

from toolwire.formats.arguments import json_text, scalars
from toolwire.formats.reader import Need, peek, skip_space
from toolwire.formats.turn_ends import turn_ends_at
from toolwire.formats.turn_state import TurnState

SEPARATORS = ",;"
_SPACE = 256
_BETWEEN = 64
_IN_OBJECT = ("", '"', "'", "}", "/", "#")
_PLACEHOLDERS = (".", "…", "<")
_FENCE_LINE = re.compile(r"```\w{0,16}+")
_FENCE_END = re.compile(r"```|`{1,2}+\Z")  # it may be cut off
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*+)"')


def read_string(turn: TurnState) -> Need[str | None]:
    """Read and decode the short string at the reader's position; None if there is none."""
    reader = turn.reader
    if match := _PLAIN_STRING.match(reader.buf, reader.pos):
        reader.pos = match.end()
        return match[1]
    quote = yield from peek(reader, 1)
    pieces: list[str] = []
    if quote == "'":
        copied = yield from scalars.copy_python_string(reader, pieces.append)
    elif quote == '"':
        reader.pos += 1
        pieces.append(quote)
        copied = yield from json_text.copy_string(reader, pieces.append)
    else:
        return None
    return str(json.loads("".join(pieces))) if copied else None


def at_marker(turn: TurnState) -> Need[bool]:
    """Whether a marker is at the reader's position."""
    marker, _ = yield from turn.stop.at(turn.reader)
    return bool(marker)


def ends_call(turn: TurnState) -> Need[bool]:
    """Whether a marker behind the arguments, or the end of the turn, is at the reader's position,
    so that closing braces before it are missing."""
    return (yield from at_marker(turn)) or (yield from turn_ends_at(turn.reader))


def begins_arguments(turn: TurnState, name: str) -> Need[bool]:
    """Whether the brace at the reader's position may begin the arguments of this tool, and not a
    placeholder for them in prose, as in `{args}` or `{...}`."""
    ahead = 1
    while (char := (yield from peek(turn.reader, ahead + 1))[ahead:]).isspace() and ahead < _SPACE:
        ahead += 1
    return char not in _PLACEHOLDERS if turn.tools.known(name) else char in _IN_OBJECT


def after_layout(turn: TurnState, opener: str = "{") -> Need[int]:
    """Return the distance to the next consecutive call, or -1 if none follows. A separator that the
    text ends with is passed."""
    reader, ahead = turn.reader, 0
    while True:
        while reader.pos + ahead >= len(reader.buf):
            if reader.final:
                reader.pos += ahead
                turn.settle()
                return -1
            yield
        char = reader.buf[reader.pos + ahead]
        if char == opener:
            return ahead
        if ahead == _BETWEEN or not (char.isspace() or char in SEPARATORS):
            return -1
        ahead += 1


def skip_fence(turn: TurnState, *, closing: bool = False) -> Need[bool]:
    """Pass a line such as ```json before a call, or the fence behind one, which may be cut off."""
    reader = turn.reader
    if (yield from skip_space(reader, _SPACE)) != "`":
        return False
    yield from peek(reader, 3 if closing else 20)
    match = (_FENCE_END if closing else _FENCE_LINE).match(reader.buf, reader.pos)
    if match:
        reader.pos = match.end()
    return match is not None
