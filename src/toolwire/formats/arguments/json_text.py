"""Copies one JSON value out of the text, byte for byte, while it arrives.

The value ends where its brackets balance, so an end marker inside a string never ends a call.
Nothing is decoded and encoded again. Some common mistakes of models are fixed on the way because
the fix is unambiguous: raw control characters in strings, an escaped apostrophe, 'single quoted'
strings, the Python words True, False and None, a trailing comma, comments, a lone surrogate, which
UTF-8 cannot encode, and a backslash before a character that has no escape in any language, as in
a regular expression. Anything else that is not JSON stops the copy.
"""

import json
import re
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

from toolwire.formats.arguments import scalars
from toolwire.formats.reader import Need, Reader, peek, skip_space
from toolwire.protocol.json_limits import MAX_DEPTH

_BIG = 48  # from this many buffered characters on, try the C scanner first

_INSIDE = rf'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|{scalars.UNICODE})[^"\\\x00-\x1f]*+)*+'
_IN_STRING = re.compile(_INSIDE)
_MARK = r"[{}\[\]:]|,(?=[ \t\n\r]*+[^ \t\n\r\]}/#])"
_WORD = r"[-+.\w]++(?=[\s,\]}/#])"
_TOKEN = re.compile(rf'[ \t\n\r]*+({_MARK}|"{_INSIDE}"|{_WORD})')
_UNQUOTED = re.compile(rf"[ \t\n\r]*+({_MARK}|{_WORD})")
_COMMA = re.compile(r",[ \t\n\r]{0,256}+")
_SURROGATE = re.compile(r"u[dD][89a-fA-F][0-9a-fA-F]{2}")
_HALVES = re.compile(rf"\\(?:{scalars.PAIR}|(u[dD][89a-fA-F][0-9a-fA-F]{{2}})|.)", re.DOTALL)
_SPACE = re.compile(r"[ \t\n\r]*+")
_COMMENT_ENDS = {"#": "\n", "//": "\n", "/*": "*/"}
MAX_COMMENT = 1024
_MOST_ENCODED = 3  # how often arguments may be encoded as a string
_BARE = re.compile(r"[-+.\w]{0,600}+")
_BEGUN = re.compile(
    r"t(?:r(?:ue?+)?+)?+|f(?:a(?:l(?:se?+)?+)?+)?+|n(?:u(?:ll?+)?+)?+"
    r"|-|-?+(?:0|[1-9][0-9]{0,511}+)(?:\.[0-9]{0,511}+)?+(?:(?<=[0-9])[eE][-+]?+[0-9]{0,511}+)?+"
)
_ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}+)?+")
_ESCAPE_LENGTH = {"u": 6}
_LITERAL = re.compile(r"\\(?![xu0-7])")  # a backslash that stands for itself
_PAIR_LENGTH = 12
_CLOSER = {"{": "}", "[": "]"}
_OPENS = '{["'
"""Values whose end does not depend on what follows, unlike that of a number."""

# What may come next.
_VALUE, _FIRST_ITEM, _FIRST_KEY, _KEY, _COLON, _NEXT, _DONE, _WRONG = range(8)

_MISSING = (["}"], ["}", "}"])
"""The closing brackets that may be missing at the end of arguments."""

Put = Callable[[str], None]
Over = Callable[[], Need[bool]]


class _Levels(list[str]):
    """The brackets that close the levels of a value."""

    python = False
    """Whether a 'single quoted' string was read. Then "..." strings are Python's, too."""


def _short(number: str) -> int:
    if len(number) > scalars.MAX_BARE:
        raise ValueError("number too long")
    return 0


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


_decoder = json.JSONDecoder(parse_int=_short, parse_float=_short, parse_constant=_refuse)


def escape(text: str) -> str:
    """Escape `text` for use inside a JSON string."""
    return encode_basestring(text)[1:-1]


def end_of_value(text: str, pos: int) -> int:
    """Return the end of the strict JSON value at `pos`, or -1: invalid, incomplete or too deep."""
    try:
        _, end = _decoder.raw_decode(text, pos)
    except (ValueError, RecursionError):
        return -1
    if text.count("{", pos, end) + text.count("[", pos, end) > MAX_DEPTH:
        return -1  # perhaps too deep: the copier counts levels
    return end


def paired(text: str) -> str:
    """Replace escaped lone surrogates in JSON `text`."""
    if "\\u" not in text:
        return text
    return _HALVES.sub(lambda found: scalars.NO_CHARACTER if found[1] else found[0], text)


def read_object(value: str) -> str:
    """Convert JSON that stands for the arguments of a call to an object; "" if it is none.

    It may be a string that contains the object, even one encoded twice, or say that there are none.
    """
    for _ in range(_MOST_ENCODED):
        if not value.startswith('"'):
            break
        value = _copied(str(json.loads(value)).strip() or "{}")
    return value if value.startswith("{") else "{}" if value in ("null", "[]") else ""


def _copied(text: str) -> str:
    """Return the value that is all of the text, as JSON; "" if it is not one value."""
    reader, pieces = Reader(), list[str]()
    reader.add(text + "\n")  # shows that a word is not truncated
    reader.final = True
    try:
        next(copying := copy_value(reader, pieces.append))
    except StopIteration as end:
        whole = end.value and not reader.buf[reader.pos :].strip()
        return "".join(pieces) if whole else ""
    raise AssertionError(f"{copying} asked for more after the end")


def copy_value(reader: Reader, put: Put, over: Over | None = None) -> Need[bool]:
    """Copy the value at the reader's position to `put`; False where it stops being JSON.

    `over` tells whether no more of it follows. There, a brace or two may be missing.
    """
    if reader.tidy and len(reader.buf) - reader.pos >= _BIG and reader.buf[reader.pos] in _OPENS:
        end = end_of_value(reader.buf, reader.pos)
        if end >= 0:
            put(paired(reader.buf[reader.pos : end]))
            reader.pos = end
            return True
        reader.tidy = False
    stack = _Levels()
    expect = _VALUE
    while expect < _DONE:
        expect = _copy_complete(reader, put, stack, expect)
        if expect < _DONE:
            expect = yield from _copy_arriving(reader, put, stack, expect, over)
    return expect == _DONE


def _copy_complete(reader: Reader, put: Put, stack: _Levels, expect: int) -> int:
    """Copy all complete tokens in the buffer. Returns what may come next."""
    buf = reader.buf
    pos = start = reader.pos
    tokens = _UNQUOTED if stack.python else _TOKEN
    while expect < _DONE and (match := tokens.match(buf, pos)):
        token = match[1]
        expect = _after(expect, token, stack)
        if expect == _WRONG:
            pos = match.start(1)  # as far as it is consumed when it arrives in pieces
            break
        pos = match.end()
        if token in scalars.PYTHON_WORDS:
            put(buf[start : match.start(1)] + scalars.PYTHON_WORDS[token])
            start = pos
    if pos > start:
        put(buf[start:pos])
    reader.pos = pos
    return expect


def _copy_arriving(
    reader: Reader, put: Put, stack: _Levels, expect: int, over: Over | None
) -> Need[int]:
    """Copy one token that is incomplete or unusual, as it arrives."""
    space = _SPACE.match(reader.buf, reader.pos)
    if space and space.end() > reader.pos:
        put(space.group())
        reader.pos = space.end()
    if reader.pos == len(reader.buf):
        if reader.final:
            return _WRONG
        yield
        return expect
    char = reader.buf[reader.pos]
    if char == "," and expect == _NEXT:
        return (yield from _pass_comma(reader, put, stack))
    if char in "/#":
        return expect if (yield from pass_comment(reader)) else _WRONG
    if expect == _NEXT and over and stack in _MISSING and (yield from over()):
        put("".join(stack))
        return _DONE
    if char not in "\"'":
        token = yield from bare_token(reader)
        if _TOKEN.match(reader.buf, reader.pos) and token:
            return expect
        if expect in (_VALUE, _FIRST_ITEM) and _BEGUN.fullmatch(token):
            _copy_begun(reader, put, len(token))
        return _WRONG
    then = _after(expect, '"', stack)
    if then == _WRONG:
        return _WRONG
    stack.python = stack.python or char == "'"
    if stack.python:
        copied = yield from scalars.copy_python_string(reader, put)
    else:
        put(char)
        reader.pos += 1
        copied = yield from copy_string(reader, put)
    return then if copied else _WRONG


def _copy_begun(reader: Reader, put: Put, size: int) -> None:
    """Copy the valid prefix of a token, if the text is truncated there."""
    if reader.final and reader.pos + size == len(reader.buf):
        put(reader.buf[reader.pos :])
        reader.pos = len(reader.buf)


def pass_comment(reader: Reader) -> Need[bool]:
    """Pass the comment at the reader's position; False if it is none, or does not end."""
    begun = yield from peek(reader, 2)
    opener = begun[:1] if begun[:1] == "#" else begun
    end, ahead = _COMMENT_ENDS.get(opener, ""), len(opener)
    while end:
        at = reader.buf.find(end, reader.pos + ahead, reader.pos + MAX_COMMENT)
        if at >= 0:
            reader.pos = at + len(end)
            return True
        if reader.final or len(reader.buf) - reader.pos >= MAX_COMMENT:
            return False
        yield
    return False


def skip_blank(reader: Reader, limit: int) -> Need[str]:
    """Consume whitespace and comments, as `skip_space` does."""
    char = reader.buf[reader.pos : reader.pos + 1]
    if char and not (char.isspace() or char in "/#"):
        return char
    char = yield from skip_space(reader, limit)
    while char in ("/", "#") and (yield from pass_comment(reader)):
        char = yield from skip_space(reader, limit)
    return char


def _pass_comma(reader: Reader, put: Put, stack: list[str]) -> Need[int]:
    """Pass a comma. It is dropped if only a closing bracket, or comments and one, follow."""
    while True:
        match = _COMMA.match(reader.buf, reader.pos)
        end = match.end() if match else reader.pos
        if end < len(reader.buf):
            break
        if reader.final:
            _copy_begun(reader, put, end - reader.pos)
            return _WRONG
        yield
    reader.pos += 1
    char = reader.buf[end]
    while char in ("/", "#"):
        yield from skip_space(reader, MAX_COMMENT)
        if not (yield from pass_comment(reader)):
            return _WRONG
        char = yield from skip_space(reader, MAX_COMMENT)
    if char in ("}", "]"):
        return _NEXT
    put(",")
    return _after(_NEXT, ",", stack)


def _after(expect: int, token: str, stack: list[str]) -> int:
    """Return what may follow `token`, given that `expect` was expected."""
    first = token[0]
    if expect == _COLON:
        return _VALUE if first == ":" else _WRONG
    if expect == _NEXT and first == ",":
        return _KEY if stack[-1] == "}" else _VALUE
    if first in "}]":
        closes = expect in (_NEXT, _FIRST_KEY, _FIRST_ITEM) and stack.pop() == first
        return _closed(stack) if closes else _WRONG
    if expect in (_FIRST_KEY, _KEY):
        return _COLON if first == '"' else _WRONG
    if expect == _NEXT or first in ",:":
        return _WRONG
    if first in _CLOSER:
        stack.append(_CLOSER[first])
        return _WRONG if len(stack) > MAX_DEPTH else _FIRST_KEY if first == "{" else _FIRST_ITEM
    return _closed(stack) if first == '"' or scalars.from_json_bare(token) else _WRONG


def _closed(stack: list[str]) -> int:
    return _NEXT if stack else _DONE


def copy_string(reader: Reader, put: Put) -> Need[bool]:
    """Copy the rest of a double-quoted string, with its closing quote."""
    buf, pos = reader.buf, reader.pos
    while True:
        end = _IN_STRING.match(buf, pos).end()  # type: ignore[union-attr]
        if end == len(buf):
            if end > pos:
                put(buf[pos:])
            reader.pos = end
            if reader.final:
                return False
            yield
            buf, pos = reader.buf, 0
            continue
        char = buf[end]
        if char == '"':
            put(buf[pos : end + 1])
            reader.pos = end + 1
            return True
        put(buf[pos:end])
        reader.pos = pos = end
        if char != "\\":
            put(escape(char))
            reader.pos = pos = end + 1
        elif len(buf) - end < _ESCAPE_LENGTH.get(buf[end + 1 : end + 2], 2) and not reader.final:
            yield  # a split escape
            buf, pos = reader.buf, 0
        elif buf.startswith("'", end + 1):
            put("'")
            reader.pos = pos = end + 2
        elif not _SURROGATE.match(buf, end + 1):
            if not _copy_backslash(reader, put):
                return False
            pos = reader.pos
        elif len(buf) - end < _PAIR_LENGTH and _may_pair(buf, end):  # a split surrogate pair
            if reader.final:
                reader.pos = len(buf)
                return False
            yield
            buf, pos = reader.buf, 0
        else:
            put(scalars.NO_CHARACTER)
            reader.pos = pos = end + 6


def _copy_backslash(reader: Reader, put: Put) -> bool:
    """Copy a backslash that stands for itself. If it begins a truncated escape, copy that, and
    return False, as for an escape of another language."""
    begun = _ESCAPE_BEGUN.match(reader.buf, reader.pos)
    if reader.final and begun and begun.end() == len(reader.buf):
        _copy_begun(reader, put, len(begun.group()))
        return False
    if not _LITERAL.match(reader.buf, reader.pos):
        return False
    put("\\\\")
    reader.pos += 1
    return True


def _may_pair(buf: str, start: int) -> bool:
    """Whether the text after a high surrogate may become its low surrogate."""
    return buf[start + 3] in "89abAB" and r"\ud".startswith(buf[start + 6 : start + 9].lower())


def bare_token(reader: Reader) -> Need[str]:
    """Return the complete number or word at the reader's position, without consuming it."""
    while True:
        match = _BARE.match(reader.buf, reader.pos)
        token = match.group() if match else ""
        if reader.pos + len(token) < len(reader.buf) or reader.final or len(token) == 600:
            return token
        yield
