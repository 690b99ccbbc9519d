"""Decodes one string of JSON that is still streaming."""

import re

import msgspec

from toolwire.surfaces.responses.kinds import INPUT

_OPENING = re.compile(rf'\s*+\{{\s*+"{INPUT}"\s*+:\s*+"')
_COMPLETE = re.compile(
    r'(?:[^"\\]++'
    r'|\\["\\/bfnrt]'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u(?![dD][89abAB])[0-9a-fA-F]{4})*+"
)
"""String text that does not end inside an escape or a surrogate pair."""

_LONGEST_OPENING = 1024
"""Characters after which arguments do not begin with the text."""


class InputReader:
    """Decodes the text in the arguments of a wrapped custom tool, piece by piece.

    Returns nothing if the arguments do not begin with that text, or after invalid JSON.
    """

    def __init__(self) -> None:
        self._waiting = ""
        self._inside = False
        self._over = False

    def feed(self, json: str) -> str:
        """Consume the next piece of the arguments. Return the text that is now certain."""
        if self._over:
            return ""
        self._waiting += json
        if not self._inside and not self._enter():
            return ""
        complete = _COMPLETE.match(self._waiting)
        end = complete.end() if complete else 0
        text, self._waiting = self._waiting[:end], self._waiting[end:]
        self._over = self._waiting.startswith('"')
        try:
            return msgspec.json.decode(f'"{text}"', type=str)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            self._over = True
            return ""

    def _enter(self) -> bool:
        if opening := _OPENING.match(self._waiting):
            self._waiting = self._waiting[opening.end() :]
            self._inside = True
        elif len(self._waiting) > _LONGEST_OPENING:
            self._over, self._waiting = True, ""
        return self._inside
