"""Converts bare words, numbers and Python strings to JSON.

Shared by all value parsers: lenient JSON, Python literals, lax objects. Model text is never
evaluated: words are looked up in a table, numbers are matched, strings are unescaped by hand.
"""

import re
from collections.abc import Callable
from json.encoder import encode_basestring

from toolwire.formats.reader import Need, Reader

MAX_BARE = 512

PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_WORDS = {"true": "true", "false": "false", "null": "null", **PYTHON_WORDS}
_JSON_NUMBER = re.compile(r"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+")
_PYTHON_INT = re.compile(r"([-+]?+)([0-9]++(?:_[0-9]++)*+)")
_PYTHON_BASED = re.compile(
    r"([-+]?+)0(?:[xX]([0-9a-fA-F_]{1,64}+)|[oO]([0-7_]{1,64}+)|[bB]([01_]{1,64}+))"
)
_PYTHON_FLOAT = re.compile(r"([-+]?+)([0-9]*+)(\.?+)([0-9]*+)((?:[eE][-+]?+[0-9]++)?+)")

# Python's single-character escapes, besides \x, \u, \U and octal ones.
_ESCAPES = {"\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f"}
_ESCAPES |= {"n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEX = re.compile(r"[0-9a-fA-F]++")
_OCTAL = re.compile(r"[0-7]{1,3}+")
_LOOK = 64  # how far past a quote to look for a valid continuation
_AFTER_STRING = ",)]}:"
_STRING_HEAD = re.compile(r"([fFuUbB]?+)([rR]?+)(\"\"\"|'''|\"|')")
_PLAIN = re.compile(r"[^\"'\\\x00-\x1f]*+")
# Escapes that Python and JSON share.
PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
UNICODE = rf"u(?![dD][89a-fA-F])[0-9a-fA-F]{{4}}|{PAIR}"
NO_CHARACTER = r"\ufffd"  # replaces a lone surrogate
_SHARED = rf"\\(?:[\"\\bfnrt]|{UNICODE})"
_ESCAPED = rf"\\(?:[\"'\\bfnrt]|{UNICODE})"  # shared escapes, and \'
_CONTROL = re.compile(r"[\x00-\x1f]")
_SHORT_CONTROLS = (("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))


def _copied(delimiter: str, escaped: str = _ESCAPED) -> re.Pattern[str]:
    """Text that is copied at once from a string; in a triple-quoted one, single quotes too."""
    quote = delimiter[0]
    if len(delimiter) == 1:
        plain = rf"[^{quote}\\\x00-\x1f]*+"
        return re.compile(rf"{plain}(?:{escaped}{plain})*+")
    inside = rf"{quote}{{1,2}}+(?=[^{quote}])"
    return re.compile(rf"[^{quote}\\]*+(?:(?:{_ESCAPED}|{inside})[^{quote}\\]*+)*+")


_COPIED = {delimiter: _copied(delimiter) for delimiter in ("'", '"', "'''", '"""')}
_ALIKE = _copied('"', _SHARED)  # as long as Python and JSON write the same
_JSON_ESCAPE = re.compile(rf"\\(?:{UNICODE})")
_CUT_ESCAPE = re.compile(r"\\(?:[xuU][0-9a-fA-F\\u]{0,10}+)?+")  # at the end of a truncated text
_ESCAPE_LENGTH = 12  # the longest escape, a surrogate pair
_SPACES = re.compile(r"\s*+")

Put = Callable[[str], None]
# (the reader, how far ahead) -> whether a string may end before the text there.
Ends = Callable[[Reader, int], Need[bool]]


def from_json_bare(token: str) -> str | None:
    """Convert a bare JSON word or number (or Python's True, False, None) to JSON."""
    if token in _WORDS:
        return _WORDS[token]
    return token if is_number(token) else None


def is_number(token: str) -> bool:
    """Whether `token` is a JSON number of reasonable length."""
    return len(token) <= MAX_BARE and _JSON_NUMBER.fullmatch(token) is not None


def from_python_bare(token: str) -> str | None:
    """Convert a bare Python word or number to JSON: `07` is 7, `0x1F` is 31, `.5` is 0.5."""
    known = from_json_bare(token)
    if known is not None or len(token) > MAX_BARE:
        return known
    if match := _PYTHON_INT.fullmatch(token):
        digits = match[2].replace("_", "").lstrip("0") or "0"
        return ("-" if match[1] == "-" else "") + digits
    if match := _PYTHON_BASED.fullmatch(token):
        return _from_based(match)
    match = _PYTHON_FLOAT.fullmatch(token)
    if match is None or not (match[2] or match[4]):
        return None
    whole, fraction = match[2].lstrip("0") or "0", match[4] or "0"
    point = f".{fraction}" if match[3] else ""
    return ("-" if match[1] == "-" else "") + whole + point + match[5]


def _from_based(match: re.Match[str]) -> str | None:
    """Convert a hexadecimal, octal or binary number to decimal."""
    digits = (match[2] or match[3] or match[4]).replace("_", "")
    base = 16 if match[2] else 8 if match[3] else 2
    return f"{'-' if match[1] == '-' else ''}{int(digits, base)}" if digits else None


def copy_python_string(reader: Reader, put: Put, ends: Ends | None = None) -> Need[bool]:
    """Copy the Python string at the reader's position, and those joined to it, as one JSON string.

    Raw newlines are accepted. A quote ends the string only if `ends` accepts the text after it, so
    `"He said "hi" to me"` is read as intended. A string that contains such a quote is not joined.
    """
    put('"')
    while True:
        while len(reader.buf) - reader.pos < 5 and not reader.final:
            yield
        head = _STRING_HEAD.match(reader.buf, reader.pos)
        if head is None:
            return False
        reader.pos = head.end()
        if not (yield from _string_body(reader, put, head, ends or before_mark)):
            return False
        then = yield from _next_string(reader, 0)
        if not then:
            break
        reader.pos += then
    put('"')
    return True


def _string_body(reader: Reader, put: Put, head: re.Match[str], ends: Ends) -> Need[bool]:
    raw, delimiter = bool(head[2]), head[3]
    quote = delimiter[0]
    copied = _PLAIN if raw else _ALIKE if delimiter == '"' else _COPIED[delimiter]
    joins = True
    while True:
        buf, pos = reader.buf, reader.pos
        end = copied.match(buf, pos).end()  # type: ignore[union-attr]
        if end > pos:
            alike = copied is _ALIKE or raw
            put(buf[pos:end] if alike else _as_json(buf[pos:end], delimiter))
            reader.pos = end
        if end == len(buf):
            if reader.final:
                return False
            yield
        elif copied is _ALIKE and buf.startswith("\\'", end):
            copied = _COPIED[delimiter]
        elif buf[end] == "\\":
            put((yield from _read_escape(reader, raw=raw)))
        elif buf[end] == quote and (yield from _at_end(reader, delimiter, ends, joins=joins)):
            reader.pos += len(delimiter)
            return True
        elif _is_cut(reader, delimiter):
            reader.pos = len(reader.buf)
            return False
        else:
            joins = joins and buf[end] != quote
            put(encode_basestring(buf[end])[1:-1])
            reader.pos += 1


def _as_json(text: str, delimiter: str) -> str:
    """Convert a piece of a Python string with shared escapes to the inside of a JSON string."""
    if "\\'" in text or (delimiter != '"' and '"' in text):
        text = _with_json_quotes(text)
    if len(delimiter) == 3 and _CONTROL.search(text):
        for char, escape in _SHORT_CONTROLS:
            text = text.replace(char, escape)
        text = _CONTROL.sub(lambda found: encode_basestring(found.group())[1:-1], text)
    return text


def _with_json_quotes(text: str) -> str:
    """Escape double quotes, and unescape single quotes."""
    if '\\"' not in text and "\\\\'" not in text:
        return text.replace("\\'", "'").replace('"', '\\"')
    # Set escaped backslashes aside, so that each remaining one escapes the next character.
    parts = (part.replace("\\'", "'").replace('\\"', '"') for part in text.split("\\\\"))
    return "\\\\".join(part.replace('"', '\\"') for part in parts)


def _at_end(reader: Reader, delimiter: str, ends: Ends, *, joins: bool) -> Need[bool]:
    """Whether the quote at the reader's position ends the string, or `joins` it to the next."""
    size = len(delimiter)
    while len(reader.buf) - reader.pos < size + 1 and not reader.final:
        yield
    if not reader.buf.startswith(delimiter, reader.pos):
        return False
    if size == 3:
        return True
    ended = joins and (yield from _next_string(reader, size)) > 0
    ended = ended or (yield from ends(reader, size))
    return ended and not _is_cut(reader, delimiter)


def _is_cut(reader: Reader, delimiter: str) -> bool:
    """Whether the text is truncated in or after a quote, which may end the string or not."""
    if not reader.final:
        return False
    rest = reader.buf[reader.pos : reader.pos + _LOOK].rstrip()
    if rest.startswith(delimiter[0]):
        rest = rest.removesuffix("+").rstrip()  # another string may be joined to this one
    return delimiter.startswith(rest) and len(reader.buf) - reader.pos < _LOOK


def before_mark(reader: Reader, ahead: int) -> Need[bool]:
    """Whether a separator, a closing bracket or the end of the text is there."""
    start = reader.pos + ahead
    ahead = yield from look_past_space(reader, ahead)
    end = reader.pos + ahead
    return ahead - (start - reader.pos) >= _LOOK or reader.buf[end : end + 1] in _AFTER_STRING


def look_past_space(reader: Reader, ahead: int) -> Need[int]:
    """Return the distance to the next character that is not a space. Consumes nothing."""
    while True:
        start = reader.pos + ahead
        match = _SPACES.match(reader.buf, start, start + _LOOK)
        end = match.end() if match else start
        if end < len(reader.buf) or reader.final:
            return end - reader.pos
        yield


def _next_string(reader: Reader, ahead: int) -> Need[int]:
    """Return the distance to a string after space or a `+`, which Python joins to this one, or
    0."""
    then = yield from look_past_space(reader, ahead)
    if reader.buf[reader.pos + then : reader.pos + then + 1] == "+":
        then = yield from look_past_space(reader, then + 1)
    quoted = reader.buf[reader.pos + then : reader.pos + then + 1] in ("'", '"')
    return then if quoted and then > ahead else 0


def _read_escape(reader: Reader, *, raw: bool) -> Need[str]:
    """Consume one backslash escape. Return its meaning as the inside of a JSON string."""
    while len(reader.buf) - reader.pos < _ESCAPE_LENGTH and not reader.final:
        if len(reader.buf) - reader.pos > 1 and reader.buf[reader.pos + 1] not in "xuU01234567":
            break
        yield
    text = reader.buf[reader.pos : reader.pos + _ESCAPE_LENGTH]
    if reader.final and _CUT_ESCAPE.fullmatch(reader.buf, reader.pos):
        reader.pos = len(reader.buf)
        return ""
    if not raw and (own := _JSON_ESCAPE.match(text)):
        # A JSON escape is copied, like those that were not split.
        reader.pos += own.end()
        return own.group()
    meaning, size = (text[:2], 2) if raw else _meaning(text)
    reader.pos += size
    if "\ud800" <= meaning <= "\udfff":
        return NO_CHARACTER
    return encode_basestring(meaning)[1:-1]


def _meaning(text: str) -> tuple[str, int]:
    """Return the meaning and the length of the escape at the start of `text`."""
    letter = text[1:2]
    if letter in _ESCAPES:
        return _ESCAPES[letter], 2
    if letter in _HEX_DIGITS:
        size = _HEX_DIGITS[letter]
        digits = text[2 : 2 + size]
        if len(digits) == size and _HEX.fullmatch(digits) and int(digits, 16) <= 0x10FFFF:
            return chr(int(digits, 16)), 2 + size
    if match := _OCTAL.match(text, 1):
        return chr(int(match.group(), 8)), match.end()
    return text[:1] + letter, 1 + len(letter)
