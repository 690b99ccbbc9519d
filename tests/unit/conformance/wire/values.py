"""How values are written: as JSON, as Python, as text between tags, with odd delimiters."""

import json
from collections.abc import Mapping
from typing import Any


def json_text(value: Any) -> str:
    """JSON as models write it: spaces behind commas and colons, letters as they are."""
    return json.dumps(value, ensure_ascii=False)


def plain_text(value: Any) -> str:
    """A value between tags: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json_text(value)


def python_text(value: Any) -> str:
    """A Python literal."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{python_text(k)}: {python_text(v)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(python_text, value)) + "]"
    return repr(value)


def python_call(name: str, args: Mapping[str, Any]) -> str:
    """A Python call with keywords."""
    return f"{name}({', '.join(f'{key}={python_text(value)}' for key, value in args.items())})"


def lax_text(value: Any, quote: str) -> str:
    """An object with bare keys, whose strings stand between `quote`."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{lax_text(v, quote)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(lax_text(v, quote) for v in value) + "]"
    return f"{quote}{value}{quote}" if isinstance(value, str) else json_text(value)


def escaped_text(value: Any, quote: str) -> str:
    """The same, but every single value stands between `quote`: its type is in the schema alone."""
    if isinstance(value, dict | list):
        return lax_text(value, quote)
    return f"{quote}{plain_text(value)}{quote}"


def tree_text(key: str, value: Any, mark: str) -> str:
    """An element per value, which nest; the items of a list are called `item`."""
    if isinstance(value, dict):
        inside = "".join(tree_text(name, inner, mark) for name, inner in value.items())
    elif isinstance(value, list):
        inside = "".join(tree_text("item", inner, mark) for inner in value)
    else:
        inside = plain_text(value)
    return f"{mark}<{key}>{inside}{mark}</{key}>"


def json_type(value: Any) -> str:
    """The name JSON Schema has for a value's type."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")
