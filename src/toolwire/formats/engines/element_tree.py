"""A parameter whose value is itself made of elements -> JSON, by what the schema says.

Works on the complete text of one value. Elements nest; `<item>` makes an array, other names an
object; a repeated name collects to an array; text beside elements is kept under `$text`.
"""

from typing import Any

from toolwire.formats import values

_MAX_DEPTH = 64


def tree_to_json(text: str, prefix: str, types: values.Types) -> str:
    """The value written as `text`, whose tags all begin with `prefix`."""
    if prefix not in text:
        if not text.strip() and types & {"array", "object"}:
            return "[]" if "array" in types else "{}"
        return values.any_json(text) or values.coerce(text, types)
    return values.to_json(_collapse(_parse(text, prefix)))


def _parse(text: str, prefix: str) -> dict[str, list[Any]]:
    """Child values by name, in order; text under `$text`."""
    root: dict[str, list[Any]] = {}
    stack: list[tuple[str, dict[str, list[Any]]]] = [("", root)]
    first, *pieces = text.split(prefix)
    _add_text(root, first)
    for piece in pieces:
        tag, _, tail = piece.lstrip("<").partition(">")
        if tag.startswith("/"):
            if len(stack) > 1 and stack[-1][0] == tag[1:]:
                name, children = stack.pop()
                stack[-1][1].setdefault(name, []).append(_collapse(children))
        elif len(stack) <= _MAX_DEPTH:
            stack.append((tag, {}))
        _add_text(stack[-1][1], tail)
    while len(stack) > 1:
        name, children = stack.pop()
        stack[-1][1].setdefault(name, []).append(_collapse(children))
    return root


def _add_text(node: dict[str, list[Any]], text: str) -> None:
    if text.strip():
        node.setdefault("$text", []).append(text)


def _collapse(children: dict[str, list[Any]]) -> Any:
    if set(children) <= {"$text"}:
        return "".join(children.get("$text", ()))
    if set(children) == {"item"}:
        return children["item"]
    return {name: found[0] if len(found) == 1 else found for name, found in children.items()}
