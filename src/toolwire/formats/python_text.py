"""Copies one Python literal out of the text as JSON, while it arrives.

Lists, tuples and sets become arrays, dicts objects. A hand-written reader, because model text is
never evaluated and because the slips models make in Python (raw newlines, `07`, unescaped quotes)
are errors to Python's own parser.
"""

from toolwire.formats import scalars
from toolwire.formats.json_text import Put, bare_token
from toolwire.formats.reader import Need, Reader, skip_space

_CLOSER = {"[": "]", "(": ")", "{": "}"}
MAX_DEPTH = 64  # one generator per level, so lower than the JSON copier's
_SPACES = 4096
_STRING_START = frozenset("'\"")
_PREFIXES = frozenset("fFuUbBrR")


def copy_literal(reader: Reader, put: Put, depth: int = 0) -> Need[bool]:
    """Copy the literal at the reader's position; False where it stops being one."""
    char = yield from skip_space(reader, _SPACES)
    if char in _CLOSER:
        return depth < MAX_DEPTH and (yield from _copy_bracket(reader, put, char, depth))
    return (yield from _copy_scalar(reader, put, char))


def _copy_scalar(reader: Reader, put: Put, char: str) -> Need[bool]:
    if (yield from _at_string(reader, char)):
        return (yield from scalars.copy_python_string(reader, put))
    token = yield from bare_token(reader)
    converted = scalars.from_python_bare(token)
    if converted is None:
        return False
    reader.pos += len(token)
    put(converted)
    return True


def _at_string(reader: Reader, char: str) -> Need[bool]:
    """Whether a string starts here, with or without a prefix such as f or rb."""
    if char in _STRING_START or char not in _PREFIXES:
        return char in _STRING_START
    while len(reader.buf) - reader.pos < 3 and not reader.final:
        yield
    head = reader.buf[reader.pos : reader.pos + 3].lstrip("fFuUbBrR")
    return head[:1] in _STRING_START


def _copy_bracket(reader: Reader, put: Put, opener: str, depth: int) -> Need[bool]:
    closer = _CLOSER[opener]
    reader.pos += 1
    char = yield from skip_space(reader, _SPACES)
    if char == closer:
        reader.pos += 1
        put("{}" if opener == "{" else "[]")
        return True
    if opener == "{":
        return (yield from _copy_braces(reader, put, depth))
    put("[")
    return (yield from _copy_items(reader, put, closer, depth))


def _copy_braces(reader: Reader, put: Put, depth: int) -> Need[bool]:
    """A dict or a set: known only after the first key or element, which is held till then."""
    first: list[str] = []
    char = yield from skip_space(reader, _SPACES)
    if not (yield from _copy_scalar(reader, first.append, char)):
        return False
    held = "".join(first)
    char = yield from skip_space(reader, _SPACES)
    if char == ":":
        put("{" + _as_key(held))
        return (yield from _copy_members(reader, put, depth))
    put("[" + held)
    if char == "}":
        reader.pos += 1
        put("]")
        return True
    if char != ",":
        return False
    return (yield from _after_item(reader, put, "}", depth))


def _copy_members(reader: Reader, put: Put, depth: int) -> Need[bool]:
    """The rest of a dict, from the colon after its first key."""
    while True:
        if (yield from skip_space(reader, _SPACES)) != ":":
            return False
        reader.pos += 1
        put(": ")
        if not (yield from copy_literal(reader, put, depth + 1)):
            return False
        char = yield from skip_space(reader, _SPACES)
        if char == ",":
            reader.pos += 1
            char = yield from skip_space(reader, _SPACES)
        elif char != "}":
            return False
        if char == "}":
            reader.pos += 1
            put("}")
            return True
        key: list[str] = []
        if not (yield from _copy_scalar(reader, key.append, char)):
            return False
        put(", " + _as_key("".join(key)))


def _copy_items(reader: Reader, put: Put, closer: str, depth: int) -> Need[bool]:
    if not (yield from copy_literal(reader, put, depth + 1)):
        return False
    return (yield from _after_item(reader, put, closer, depth))


def _after_item(reader: Reader, put: Put, closer: str, depth: int) -> Need[bool]:
    while True:
        char = yield from skip_space(reader, _SPACES)
        if char == ",":
            reader.pos += 1
            char = yield from skip_space(reader, _SPACES)
        elif char != closer:
            return False
        if char == closer:
            reader.pos += 1
            put("]")
            return True
        put(", ")
        if not (yield from copy_literal(reader, put, depth + 1)):
            return False


def _as_key(json: str) -> str:
    return json if json.startswith('"') else f'"{json}"'


def python_to_json(text: str) -> str | None:
    """A complete Python literal as JSON; None when `text` is not exactly one."""
    reader = Reader()
    reader.add(text)
    reader.final = True
    pieces: list[str] = []
    copying = copy_literal(reader, pieces.append)
    try:
        next(copying)
    except StopIteration as end:
        whole = end.value and reader.pos == len(text)
        return "".join(pieces) if whole else None
    raise AssertionError("a reader that is final never needs more")
