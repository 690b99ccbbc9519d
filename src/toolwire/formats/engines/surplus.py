"""The closing brackets that models write too many of behind a call.

They are passed only if nothing but layout separates them from a marker or from the end of the text:
anywhere else a bracket is text.
"""

from toolwire.formats.reader import Need, Reader, peek
from toolwire.formats.turn_ends import TURN_END_LEXER
from toolwire.formats.turn_state import TurnState

_MOST = 4
_GAP = 4  # maximum whitespace before or between them


def pass_surplus(turn: TurnState, *, fenced: bool) -> Need[None]:
    """Pass surplus brackets. `fenced`: a code fence may follow them as well."""
    ahead, rest = yield from _look(turn.reader)
    if ahead and (not rest or (fenced and rest == "`") or (yield from _marker(turn, ahead))):
        turn.reader.pos += ahead
        turn.settle()


def _look(reader: Reader) -> Need[tuple[int, str]]:
    """Return the length of the brackets with the layout around them, or 0, and what follows."""
    ahead = brackets = gap = 0
    while True:
        char = (yield from peek(reader, ahead + 1))[ahead:]
        if char in ("}", "]") and brackets < _MOST:
            brackets, gap = brackets + 1, 0
        elif char.isspace() and gap < _GAP:
            gap += 1
        else:
            return (ahead if brackets else 0), char
        ahead += 1


def _marker(turn: TurnState, ahead: int) -> Need[bool]:
    for lexer in (turn.stop, TURN_END_LEXER):
        marker, _ = yield from lexer.at(turn.reader, ahead)
        if marker:
            return True
    return False
