"""Bare words, numbers and Python strings, and how each is written in JSON.

Shared by everything that reads values: JSON with slips, Python literals, lax objects. No text of a
model is evaluated here: words are looked up in a table, numbers matched, strings unescaped by hand.
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
_PYTHON_FLOAT = re.compile(r"([-+]?+)([0-9]*+)(\.?+)([0-9]*+)((?:[eE][-+]?+[0-9]++)?+)")

# Python's escapes that stand for one character, beside \x, \u, \U and octal ones.
_ESCAPES = {"\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f"}
_ESCAPES |= {"n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEX = re.compile(r"[0-9a-fA-F]++")
_OCTAL = re.compile(r"[0-7]{1,3}+")
_LOOK = 64  # how far past a quote to look for what must follow a string
_STRING_HEAD = re.compile(r"([fFuUbB]?+)([rR]?+)(\"\"\"|'''|\"|')")
_PLAIN = re.compile(r"[^\"'\\\x00-\x1f]*+")
_ESCAPED = r"\\(?:[\"'\\bfnrt]|u[0-9a-fA-F]{4})"  # what Python and JSON write alike, and \'
_CONTROL = re.compile(r"[\x00-\x1f]")
_SHORT_CONTROLS = (("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))


def _copied(delimiter: str) -> re.Pattern[str]:
    """What is copied at once from a string; in one of many lines, these and single quotes, too."""
    quote = delimiter[0]
    if len(delimiter) == 1:
        plain = rf"[^{quote}\\\x00-\x1f]*+"
        return re.compile(rf"{plain}(?:{_ESCAPED}{plain})*+")
    inside = rf"{quote}{{1,2}}+(?=[^{quote}])"
    return re.compile(rf"[^{quote}\\]*+(?:(?:{_ESCAPED}|{inside})[^{quote}\\]*+)*+")


_COPIED = {delimiter: _copied(delimiter) for delimiter in ("'", '"', "'''", '"""')}
_JSON_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}")
_SPACES = re.compile(r"\s*+")

Put = Callable[[str], None]


def from_json_bare(token: str) -> str | None:
    """A bare word or number of JSON (or Python's True, False, None) as JSON."""
    if token in _WORDS:
        return _WORDS[token]
    return token if is_number(token) else None


def is_number(token: str) -> bool:
    """Whether `token` is a JSON number of a sane length."""
    return len(token) <= MAX_BARE and _JSON_NUMBER.fullmatch(token) is not None


def from_python_bare(token: str) -> str | None:
    """A bare word or number of Python as JSON: `07` is 7, `1_000` is 1000, `.5` is 0.5."""
    known = from_json_bare(token)
    if known is not None or len(token) > MAX_BARE:
        return known
    if match := _PYTHON_INT.fullmatch(token):
        digits = match[2].replace("_", "").lstrip("0") or "0"
        return ("-" if match[1] == "-" else "") + digits
    match = _PYTHON_FLOAT.fullmatch(token)
    if match is None or not (match[2] or match[4]):
        return None
    whole, fraction = match[2].lstrip("0") or "0", match[4] or "0"
    point = f".{fraction}" if match[3] else ""
    return ("-" if match[1] == "-" else "") + whole + point + match[5]


def copy_python_string(reader: Reader, put: Put) -> Need[bool]:
    """Copy the Python string at the reader's position as a JSON string.

    Raw newlines are taken as they are. A quote ends the string only if something that can follow a
    string does, so that `"He said "hi" to me"` is read as it was meant.
    """
    while len(reader.buf) - reader.pos < 5 and not reader.final:
        yield
    head = _STRING_HEAD.match(reader.buf, reader.pos)
    if head is None:
        return False
    raw, delimiter = bool(head[2]), head[3]
    reader.pos = head.end()
    put('"')
    return (yield from _string_body(reader, put, delimiter, raw=raw))


def _string_body(reader: Reader, put: Put, delimiter: str, *, raw: bool) -> Need[bool]:
    quote = delimiter[0]
    copied = _PLAIN if raw else _COPIED[delimiter]
    while True:
        buf, pos = reader.buf, reader.pos
        end = copied.match(buf, pos).end()  # type: ignore[union-attr]
        if end > pos:
            put(buf[pos:end] if raw else _as_json(buf[pos:end], delimiter))
            reader.pos = end
        if end == len(buf):
            if reader.final:
                return False
            yield
        elif buf[end] == "\\":
            put((yield from _read_escape(reader, raw=raw)))
        elif buf[end] == quote and (yield from _at_end(reader, delimiter)):
            put('"')
            reader.pos += len(delimiter)
            return True
        else:
            put(encode_basestring(buf[end])[1:-1])
            reader.pos += 1


def _as_json(text: str, delimiter: str) -> str:
    """A piece of a Python string whose escapes JSON has too, as the inside of a JSON string."""
    if "\\'" in text or (delimiter != '"' and '"' in text):
        text = _with_json_quotes(text)
    if len(delimiter) == 3 and _CONTROL.search(text):
        for char, escape in _SHORT_CONTROLS:
            text = text.replace(char, escape)
        text = _CONTROL.sub(lambda found: encode_basestring(found.group())[1:-1], text)
    return text


def _with_json_quotes(text: str) -> str:
    """Double quotes with a backslash, and single ones without."""
    if '\\"' not in text and "\\\\'" not in text:
        return text.replace("\\'", "'").replace('"', '\\"')
    # Backslashes of their own are put aside, so that each one left belongs to what follows it.
    parts = (part.replace("\\'", "'").replace('\\"', '"') for part in text.split("\\\\"))
    return "\\\\".join(part.replace('"', '\\"') for part in parts)


def _at_end(reader: Reader, delimiter: str) -> Need[bool]:
    """Whether the quote at the reader's position ends the string."""
    size = len(delimiter)
    while len(reader.buf) - reader.pos < size + 1 and not reader.final:
        yield
    if not reader.buf.startswith(delimiter, reader.pos):
        return False
    if size == 3:
        return True
    while True:
        start = reader.pos + size
        match = _SPACES.match(reader.buf, start, start + _LOOK)
        end = match.end() if match else start
        if end < len(reader.buf):
            return end - start == _LOOK or reader.buf[end] in ",)]}:"
        if reader.final:
            return True
        yield


def _read_escape(reader: Reader, *, raw: bool) -> Need[str]:
    """Take one backslash escape and return what it stands for, as the inside of a JSON string."""
    while len(reader.buf) - reader.pos < 10 and not reader.final:
        if len(reader.buf) - reader.pos > 1 and reader.buf[reader.pos + 1] not in "xuU01234567":
            break
        yield
    text = reader.buf[reader.pos : reader.pos + 10]
    if not raw and _JSON_ESCAPE.match(text):
        # It is JSON's own, and is copied like those that were not cut in two.
        reader.pos += 6
        return text[:6]
    meaning, size = (text[:2], 2) if raw else _meaning(text)
    reader.pos += size
    if "\ud800" <= meaning <= "\udfff":  # half of a pair: only JSON's own escape can carry it
        return f"\\u{ord(meaning):04x}"
    return encode_basestring(meaning)[1:-1]


def _meaning(text: str) -> tuple[str, int]:
    """What the escape at the start of `text` stands for, and its length."""
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
