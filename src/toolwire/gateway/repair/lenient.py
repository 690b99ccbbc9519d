"""Converts almost-JSON to JSON, if the fix is unambiguous.

It fixes trailing commas, Python's True, False and None, 'single quotes', an escaped apostrophe,
bare keys, and raw control characters in strings. It works on tokens only. A strict decoder decides
whether the result is JSON, so truncated text is never completed.
"""

import re

from toolwire.formats.arguments.json_text import escape
from toolwire.formats.arguments.scalars import PYTHON_WORDS

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
"""The most tokens to read: this blocks the event loop, so longer texts are skipped."""
_LONGEST = 512 * 1024
_COLON = re.compile(r"[ \t\r\n]*+:")
_QUOTED = re.compile(r"""\\.|\"""", re.DOTALL)
_REQUOTED = {"\\'": "'", '"': '\\"'}
_CONTROL = re.compile(r"[\x00-\x1f]")
_WORDS = {"true": "true", "false": "false", "null": "null", **PYTHON_WORDS}


def tidied(text: str) -> str | None:
    """Return the text with its mistakes fixed; None if it contains other tokens."""
    if len(text) > _LONGEST:
        return None
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
    """Return one token in JSON syntax. Only a key may precede a colon."""
    if string := match["string"]:
        return _string(string)
    if word := match["word"]:
        return f'"{word}"' if is_key else _WORDS.get(word)
    return match["mark"] or match["number"]


def _string(text: str) -> str:
    inside = _QUOTED.sub(lambda found: _REQUOTED.get(found[0], found[0]), text[1:-1])
    return f'"{_CONTROL.sub(lambda found: escape(found[0]), inside)}"'
