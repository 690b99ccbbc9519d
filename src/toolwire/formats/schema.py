"""What a tool's JSON Schema says about the types of its arguments.

Looks through `$ref`, `anyOf`, `oneOf`, `allOf`, `enum`, `const` and lists of types. It does not
validate: it only answers which JSON types are allowed, and where a member is described.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Types: TypeAlias = frozenset[str]
_MAX_HOPS = 24  # through $ref and combinators; a schema may refer to itself
_COMBINATORS = ("allOf", "anyOf", "oneOf")
_TYPE_OF: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (Mapping, "object"),
    (type(None), "null"),
)


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema, or a part of one: `node` inside `root`."""

    node: Any
    root: Mapping[str, Any]

    def types(self) -> Types:
        """The JSON types allowed here; empty when it is not said."""
        return _types(self.node, self.root, _MAX_HOPS)

    def properties(self) -> Mapping[str, Any]:
        """The declared members of an object."""
        found: dict[str, Any] = {}
        for node in _alternatives(self.node, self.root, _MAX_HOPS):
            declared = node.get("properties")
            if isinstance(declared, Mapping):
                found = {**declared, **found}
        return found

    def required(self) -> frozenset[str]:
        """The members an object must have."""
        node = _resolve(self.node, self.root)
        required = node.get("required") if isinstance(node, Mapping) else None
        listed = required if isinstance(required, list | tuple) else ()
        return frozenset(name for name in listed if isinstance(name, str))

    def property(self, key: str) -> "Schema":
        """The schema of one member."""
        return Schema(self.properties().get(key), self.root)

    def items(self) -> "Schema":
        """The schema of an array's elements."""
        for node in _alternatives(self.node, self.root, _MAX_HOPS):
            if "items" in node:
                return Schema(node["items"], self.root)
        return Schema(None, self.root)


NO_SCHEMA = Schema(None, {})


def type_name(value: Any) -> str:
    """The JSON type of a decoded value."""
    return next((name for kind, name in _TYPE_OF if isinstance(value, kind)), "string")


def _types(node: Any, root: Mapping[str, Any], hops: int) -> Types:
    if not isinstance(node, Mapping) or hops == 0:
        return frozenset()
    declared = node.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list | tuple):
        return frozenset(t for t in declared if isinstance(t, str))
    if "$ref" in node:
        return _types(_follow(node["$ref"], root), root, hops - 1)
    if "const" in node or isinstance(node.get("enum"), list):
        return frozenset(map(type_name, node.get("enum") or [node.get("const")]))
    for key in ("anyOf", "oneOf"):
        if isinstance(node.get(key), list):
            return frozenset().union(*(_types(part, root, hops - 1) for part in node[key]))
    if isinstance(node.get("allOf"), list):
        return _common(_types(part, root, hops - 1) for part in node["allOf"])
    return frozenset({"object"}) if "properties" in node else frozenset()


def _common(parts: Iterable[Types]) -> Types:
    stated = [part for part in parts if part]
    return frozenset.intersection(*stated) if stated else frozenset()


def _alternatives(node: Any, root: Mapping[str, Any], hops: int) -> Iterable[Mapping[str, Any]]:
    """The node and everything it refers to or is combined from."""
    node = _resolve(node, root)
    if not isinstance(node, Mapping) or hops == 0:
        return
    yield node
    for key in _COMBINATORS:
        parts = node.get(key)
        for part in parts if isinstance(parts, list) else ():
            yield from _alternatives(part, root, hops // 4)


def _resolve(node: Any, root: Mapping[str, Any]) -> Any:
    for _ in range(_MAX_HOPS):
        if not isinstance(node, Mapping) or "$ref" not in node:
            return node
        node = _follow(node["$ref"], root)
    return None


def _follow(ref: Any, root: Mapping[str, Any]) -> Any:
    """What a local `$ref` points to; None when it leads nowhere."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    target: Any = root
    for part in ref[1:].strip("/").split("/") if ref != "#" else ():
        if not isinstance(target, Mapping):
            return None
        target = target.get(part.replace("~1", "/").replace("~0", "~"))
    return target
