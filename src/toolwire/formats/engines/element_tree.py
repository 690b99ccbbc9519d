"""Converts a parameter value made of nested elements to JSON, by its schema.

Works on the complete text of one value. `<item>` makes an array, other names make an object. A
repeated name becomes an array. Text next to elements is kept under `$text`.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from toolwire.formats.arguments import values
from toolwire.formats.arguments.schema import Schema

_MAX_DEPTH = 64
Element: TypeAlias = dict[str, list[Any]]  # children by name, in order; text under `$text`


def tree_to_json(text: str, prefix: str, schema: Schema) -> str:
    """Convert `text`, whose tags all begin with `prefix`."""
    return _write(_parse(text, prefix), schema)


def list_of(items: list[str], prefix: str) -> str:
    """Return the text of an array of these values."""
    return "".join(f"{prefix}<item>{item}{prefix}</item>" for item in items)


def _parse(text: str, prefix: str) -> Element:
    root: Element = {}
    stack: list[tuple[str, Element]] = [("", root)]
    first, *pieces = text.split(prefix)
    _add_text(root, first)
    for piece in _opened(pieces):
        if not piece.startswith("<"):
            _add_text(stack[-1][1], prefix + piece)
            continue
        tag, _, tail = piece[1:].partition(">")
        if not tag.startswith("/"):
            if len(stack) <= _MAX_DEPTH:
                child: Element = {}
                stack[-1][1].setdefault(tag, []).append(child)
                stack.append((tag, child))
        elif len(stack) > 1 and stack[-1][0] == tag[1:]:
            stack.pop()
        _add_text(stack[-1][1], tail)
    return root


def _opened(pieces: list[str]) -> Iterator[str]:
    """Add opening tags that are missing: only the closing tag after a value has its name."""
    for piece, then in pairwise([*pieces, ""]):
        missing = not piece.startswith("<") and then.startswith("</")
        yield f"<{then[2:].partition('>')[0]}>{piece}" if missing else piece


def _add_text(node: Element, text: str) -> None:
    if text:
        node.setdefault("$text", []).append(text)


def _write(node: Element, schema: Schema) -> str:
    children = {name: found for name, found in node.items() if name != "$text"}
    text = "".join(node.get("$text", ()))
    if not children:
        return _write_leaf(text, schema)
    if set(children) == {"item"} and _is_list(schema):
        return _write_list(children["item"], schema)
    members = [
        f"{values.quote(name)}: {_write_member(found, schema.property(name))}"
        for name, found in children.items()
    ]
    if text.strip():
        members.append(f'"$text": {values.quote(text)}')
    return "{" + ", ".join(members) + "}"


def _is_list(schema: Schema) -> bool:
    """Whether the items form an array, and not members of an object by the schema."""
    types = schema.types()
    return "object" not in types or ("array" in types and "item" not in schema.properties())


def _write_member(found: list[Any], schema: Schema) -> str:
    if len(found) == 1:
        return _write(found[0], schema)
    return _write_list(found, schema)


def _write_list(nodes: list[Any], schema: Schema) -> str:
    items = (_write(node, schema.item(index)) for index, node in enumerate(nodes))
    return "[" + ", ".join(items) + "]"


def _write_leaf(text: str, schema: Schema) -> str:
    types = schema.types()
    if not text.strip() and types & {"array", "object"} and "string" not in types:
        return "[]" if "array" in types else "{}"
    return values.coerce(text, types)
