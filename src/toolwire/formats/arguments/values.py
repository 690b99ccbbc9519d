"""Converts a plain-text value to JSON, by the types that the tool's schema allows.

This is for formats whose values have no type (tagged parameters, escaped strings). The order of
attempts is the contract: null, integer, number, boolean, object or array, string. A property that
can only be a string is never converted. A value that matches no allowed type stays text, unless it
is JSON and text is not allowed either: `null` for an integer means null, not the word.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from toolwire.formats.arguments import json_text, scalars
from toolwire.formats.arguments.python_text import python_to_json
from toolwire.formats.arguments.schema import Types

STRING: Types = frozenset({"string"})
_CONTAINERS: Types = frozenset({"object", "array"})
_BOOLEANS = {"true": "true", "false": "false"}
_INTEGER = re.compile(r"[-+]?+[0-9]++")


def is_text(types: Types) -> bool:
    """Whether a value of these types is always the text itself, and can be streamed."""
    return not types or types == STRING


def quote(text: str) -> str:
    """Encode `text` as a JSON string."""
    return f'"{json_text.escape(text)}"'


def coerce(text: str, types: Types) -> str:
    """Convert `text` to JSON of one of `types`."""
    if not is_text(types):
        stripped = text.strip()
        for allowed, convert in _ATTEMPTS:
            if types & allowed and (converted := convert(stripped)) is not None:
                return converted
        if "string" not in types and (value := _unescaped(stripped, types) or any_json(stripped)):
            return value
    return quote(text)


def coerce_json(text: str, types: Types) -> str:
    """Convert a value that is JSON, if it can be, whatever its types."""
    return any_json(text) or coerce(text, types)


def coerce_literal(text: str, types: Types) -> str:
    """Convert a value that is stated not to be a string."""
    return any_literal(text) or coerce(text, types)


def coerce_quoted(text: str, types: Types) -> str:
    """Convert a value that is a JSON string, if it is one, and any other as by its types."""
    value = any_json(text) if text.lstrip()[:1] == '"' else None
    return value or coerce(text, types)


def _unescaped(text: str, types: Types) -> str | None:
    """Unescape JSON that was escaped as in a string, with or without the quotes."""
    if not types & _CONTAINERS or '\\"' not in text or text[0] not in '{["':
        return None
    inside = text[1:-1] if text[0] == text[-1] == '"' else text
    try:
        inner = json.loads(f'"{inside}"', strict=False)
    except ValueError:
        return None
    value = any_json(inner)
    return value if value and value[0] in "{[" else None


def any_json(text: str) -> str | None:
    """Return `text` if it is one JSON value of any type."""
    stripped = text.strip()
    if stripped and json_text.end_of_value(stripped, 0) == len(stripped):
        return json_text.paired(stripped)
    return None


def any_literal(text: str) -> str | None:
    """Return `text` as JSON if it is one JSON or Python value."""
    return any_json(text) or python_to_json(text.strip())


def _null(text: str) -> str | None:
    return "null" if text in ("null", "None") else None


def _integer(text: str) -> str | None:
    if _INTEGER.fullmatch(text):
        return scalars.from_python_bare(text)
    return text if scalars.is_number(text) and re.fullmatch(r"-?[0-9]+\.0+", text) else None


def _number(text: str) -> str | None:
    converted = scalars.from_python_bare(text)
    return converted if converted is not None and scalars.is_number(converted) else None


def _container(text: str) -> str | None:
    if text[:1] not in ("{", "[", "("):
        return None
    if (value := any_json(text)) or not (value := python_to_json(text)):
        return value
    return value if value[0] in "{[" else f"[{value}]"  # a tuple without its comma


_ATTEMPTS: tuple[tuple[Types, Callable[[str], str | None]], ...] = (
    (frozenset({"null"}), _null),
    (frozenset({"integer"}), _integer),
    (frozenset({"number"}), _number),
    (frozenset({"boolean"}), lambda text: _BOOLEANS.get(text.lower())),
    (_CONTAINERS, _container),
)


def to_json(value: Any) -> str:
    """Encode a decoded value as JSON, without escaping non-ASCII characters."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return _with_huge_numbers(value)


def _with_huge_numbers(value: Any) -> str:
    """Like `to_json`, for numbers such as `1e999`, which are infinite in Python but not in JSON."""
    if isinstance(value, Mapping):
        items = (f"{to_json(key)}: {to_json(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_json, value)) + "]"
    return "-1e999" if value < 0 else "1e999"
