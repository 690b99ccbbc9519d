"""JSON as models write it on a bad day -> JSON, where only one reading is possible.

Put right: commas before a closing bracket, Python's True, False and None, 'single quotes', bare
keys, and raw control characters in strings. Only the tokens are looked at here: whether the result
is JSON is for a strict decoder to say, so that nothing that is cut off is ever completed.
"""

import re

from toolwire.formats.json_text import escape
from toolwire.formats.scalars import PYTHON_WORDS

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]*+)(?:
        (?P<mark>[{}\[\],:])
      | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+')
      | (?P<word>[A-Za-z_$][\w$-]*+)
      | (?P<number>-?+[0-9][0-9.eE+-]*+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_MOST_TOKENS = 10_000
"""Others wait while this is read, so a text of many pieces is left alone."""
_COLON = re.compile(r"[ \t\r\n]*+:")
_QUOTED = re.compile(r"""\\.|\"""", re.DOTALL)
_REQUOTED = {"\\'": "'", '"': '\\"'}
_CONTROL = re.compile(r"[\x00-\x1f]")
_WORDS = {"true": "true", "false": "false", "null": "null", **PYTHON_WORDS}


def tidied(text: str) -> str | None:
    """The text with its slips put right; None if it is not made of JSON's tokens."""
    out: list[str] = []
    end = len(text.rstrip(" \t\r\n"))
    at = 0
    after_comma = False
    while at < end:
        match = _TOKEN.match(text, at, end)
        if match is None or len(out) == _MOST_TOKENS:
            return None
        at = match.end()
        written = _written(match, is_key=_COLON.match(text, at) is not None)
        if written is None:
            return None
        if after_comma and written in ("}", "]"):
            out.pop()
        out.append(match["space"] + written)
        after_comma = written == ","
    return "".join(out)


def _written(match: re.Match[str], *, is_key: bool) -> str | None:
    """One token as JSON writes it. Nothing but a key stands before a colon."""
    if string := match["string"]:
        return _string(string)
    if word := match["word"]:
        return f'"{word}"' if is_key else _WORDS.get(word)
    return match["mark"] or match["number"]


def _string(text: str) -> str:
    inside = text[1:-1]
    if text[0] == "'":
        inside = _QUOTED.sub(lambda found: _REQUOTED.get(found[0], found[0]), inside)
    return f'"{_CONTROL.sub(lambda found: escape(found[0]), inside)}"'
