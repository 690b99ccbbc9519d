"""Copies one Python literal out of the text as JSON, while it arrives.

Lists, tuples and sets become arrays; dicts become objects. The parser is hand-written, because
model text is never evaluated, and because Python's own parser rejects common mistakes of models
(raw newlines, `07`, unescaped quotes). It does not recurse.
"""

from toolwire.formats.arguments import scalars
from toolwire.formats.arguments.json_text import Put, bare_token, skip_blank
from toolwire.formats.reader import Need, Reader
from toolwire.protocol.json_limits import MAX_DEPTH

_CLOSER = {"[": "]", "(": ")", "{": "}"}
_SPACES = 4096
_STRING_START = frozenset("'\"")
_PREFIXES = frozenset("fFuUbBrR")
_DICT = "} of a dict"  # stack entry of a dict; that of a set is the brace alone
_WRITTEN = {"]": "]", ")": "]", "}": "]", _DICT: "}"}


# What comes next: a value, a separator, the end, or something that is not a literal.
_VALUE, _AFTER, _DONE, _WRONG = range(4)


def copy_literal(reader: Reader, put: Put, ends: scalars.Ends | None = None) -> Need[bool]:
    """Copy the literal at the reader's position; False where it stops being one.

    `ends` decides where a string outside brackets ends.
    """
    char = yield from skip_blank(reader, _SPACES)
    if char not in _CLOSER:
        return (yield from _copy_scalar(reader, put, char, ends))
    brackets, state = _Brackets(reader, put), _VALUE
    while state < _DONE:
        if state == _AFTER:
            state = yield from brackets.after_value()
        else:
            state = yield from brackets.value()
    return state == _DONE


class _Brackets:
    """Converts a literal in brackets to JSON. The stack holds the closers of open brackets."""

    __slots__ = ("_put", "_reader", "_stack")

    def __init__(self, reader: Reader, put: Put) -> None:
        self._reader = reader
        self._put = put
        self._stack: list[str] = []

    def value(self) -> Need[int]:
        """Copy a scalar, or open a bracket."""
        char = yield from self._next()
        if char in _CLOSER:
            return (yield from self._open(char))
        return _AFTER if (yield from _copy_scalar(self._reader, self._put, char)) else _WRONG

    def after_value(self) -> Need[int]:
        """Continue after a value, and close brackets that end there."""
        stack = self._stack
        while stack:
            char = yield from self._next()
            if char == ",":
                char = yield from self._next(taken=1)
                if char != stack[-1][0]:
                    return (yield from self._following(char))
            if char != stack[-1][0]:
                return _WRONG
            self._put(_WRITTEN[stack.pop()])
            self._reader.pos += 1
        return _DONE

    def _following(self, char: str) -> Need[int]:
        """After a comma: read the next element, or the next key and its colon."""
        self._put(", ")
        if self._stack[-1] != _DICT:
            return _VALUE
        key = yield from self._scalar(char)
        if key is None or (yield from self._next()) != ":":
            return _WRONG
        self._put(_as_key(key) + ": ")
        self._reader.pos += 1
        return _VALUE

    def _open(self, opener: str) -> Need[int]:
        closer = _CLOSER[opener]
        char = yield from self._next(taken=1)
        if char == closer:
            self._put("{}" if opener == "{" else "[]")
            self._reader.pos += 1
            return _AFTER
        if len(self._stack) == MAX_DEPTH:
            return _WRONG
        if opener == "[" or (opener == "(" and char in _CLOSER):
            self._put("[")
            self._stack.append(closer)
            return _VALUE
        return (yield from self._open_unsure(closer, char))

    def _open_unsure(self, closer: str, char: str) -> Need[int]:
        """Open a bracket of unknown type: braces make a dict or a set, and only a comma makes a
        tuple. The first element is held until the type is known."""
        held = yield from self._scalar(char)
        if held is None:
            return _WRONG
        char = yield from self._next()
        if closer == "}" and char == ":":
            self._put("{" + _as_key(held) + ": ")
            self._stack.append(_DICT)
            self._reader.pos += 1
            return _VALUE
        if char == closer == ")":
            self._put(held)
            self._reader.pos += 1
            return _AFTER
        if not char:
            return _WRONG  # the text is truncated
        self._put("[" + held)
        self._stack.append(closer)
        return _AFTER

    def _scalar(self, char: str) -> Need[str | None]:
        pieces: list[str] = []
        copied = yield from _copy_scalar(self._reader, pieces.append, char)
        return "".join(pieces) if copied else None

    def _next(self, taken: int = 0) -> Need[str]:
        self._reader.pos += taken
        return (yield from skip_blank(self._reader, _SPACES))


def _copy_scalar(
    reader: Reader, put: Put, char: str, ends: scalars.Ends | None = None
) -> Need[bool]:
    if (yield from _at_string(reader, char)):
        return (yield from scalars.copy_python_string(reader, put, ends))
    token = yield from bare_token(reader)
    converted = scalars.from_python_bare(token)
    if converted is None or (reader.final and reader.pos + len(token) == len(reader.buf)):
        return False  # not a literal, or truncated
    reader.pos += len(token)
    put(converted)
    return True


def _at_string(reader: Reader, char: str) -> Need[bool]:
    """Whether a string begins here, with or without a prefix such as f or rb."""
    if char in _STRING_START or char not in _PREFIXES:
        return char in _STRING_START
    while len(reader.buf) - reader.pos < 3 and not reader.final:
        yield
    head = reader.buf[reader.pos : reader.pos + 3].lstrip("fFuUbBrR")
    return head[:1] in _STRING_START


def _as_key(json: str) -> str:
    return json if json.startswith('"') else f'"{json}"'


def python_to_json(text: str) -> str | None:
    """Convert a complete Python literal to JSON; None if `text` is not exactly one literal."""
    reader = Reader()
    reader.add(text + ",")  # shows that the literal is not truncated
    reader.final = True
    pieces: list[str] = []
    copying = copy_literal(reader, pieces.append)
    try:
        next(copying)
    except StopIteration as end:
        whole = end.value and reader.pos == len(text)
        return "".join(pieces) if whole else None
    raise AssertionError("a reader that is final never needs more")
