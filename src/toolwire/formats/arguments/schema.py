"""Reads the types of arguments from a tool's JSON Schema.

Follows `$ref`, `anyOf`, `oneOf`, `allOf`, `enum`, `const` and lists of types. It does not validate:
it only finds the allowed JSON types, and the schema of a member. Each subschema is visited once,
because a schema may refer to itself, and to the same subschema many times.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

Types: TypeAlias = frozenset[str]
_MAX_HOPS = 24  # maximum hops through $ref and combinators
_MOST_PARTS = 1000  # maximum subschemas combined into one
_KEYWORDS = {"properties": "object", "items": "array", "prefixItems": "array"}
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


_JSON_TYPES = frozenset(kind for _, kind in _TYPE_OF)
_FOREIGN = {
    "string": re.compile("str|text|(?:var)?char|enum"),
    "integer": re.compile("(?:u?int|unsigned|long|short)[a-z0-9_]*+"),
    "number": re.compile("(?:num|float|double|decimal)[a-z0-9_]*+"),
    "boolean": re.compile("bool|binary"),
    "array": re.compile("arr|list|tuple|sequence"),
    "object": re.compile("dict|dictionary|map|mapping"),
    "null": re.compile("none|nonetype|nil"),
}


class Schema(msgspec.Struct, frozen=True):
    """A schema, or a part of one: `node` inside `root`."""

    node: Any
    root: Mapping[str, Any]

    def types(self) -> Types:
        """The JSON types allowed here; empty if unspecified."""
        return _types(self.node, self.root, {}, _MAX_HOPS)

    def properties(self) -> Mapping[str, Any]:
        """The declared members of an object."""
        declared = [node.get("properties") for node in _alternatives(self.node, self.root)]
        found: dict[str, Any] = {}
        for properties in reversed(declared):  # the first declaration wins
            found.update(properties if isinstance(properties, Mapping) else ())
        return found

    def required(self) -> frozenset[str]:
        """The members an object must have."""
        node = _resolve(self.node, self.root)
        required = node.get("required") if isinstance(node, Mapping) else None
        listed = required if isinstance(required, list | tuple) else ()
        return frozenset(name for name in listed if isinstance(name, str))

    def property(self, key: str) -> "Schema":
        """The schema of one member: its own, or that of all others."""
        declared = self.properties()
        if key in declared:
            return Schema(declared[key], self.root)
        for node in _alternatives(self.node, self.root):
            patterns = node.get("patternProperties")
            if isinstance(patterns, Mapping) and len(patterns) == 1:
                return Schema(next(iter(patterns.values())), self.root)
            if isinstance(node.get("additionalProperties"), Mapping):
                return Schema(node["additionalProperties"], self.root)
        return Schema(None, self.root)

    def items(self) -> "Schema":
        """The schema of an array's elements."""
        for node in _alternatives(self.node, self.root):
            if "items" in node:
                return Schema(node["items"], self.root)
        return Schema(None, self.root)

    def item(self, index: int) -> "Schema":
        """The schema of one element of an array."""
        for node in _alternatives(self.node, self.root):
            for keyword in ("prefixItems", "items"):
                listed = node.get(keyword)
                if isinstance(listed, Mapping):
                    return Schema(listed, self.root)
                if isinstance(listed, list) and index < len(listed):
                    return Schema(listed[index], self.root)
        return Schema(None, self.root)


NO_SCHEMA = Schema(None, {})


def type_name(value: Any) -> str:
    """The JSON type of a decoded value."""
    return next((name for kind, name in _TYPE_OF if isinstance(value, kind)), "string")


def _types(node: Any, root: Mapping[str, Any], known: dict[int, Types], hops: int) -> Types:
    """Return the types of a subschema. `known` caches subschemas visited or in progress."""
    if not isinstance(node, Mapping) or hops == 0 or len(known) > _MOST_PARTS:
        return frozenset()
    types = known.get(id(node))
    if types is None:
        known[id(node)] = frozenset()
        types = known[id(node)] = _said_types(node, root, known, hops - 1)
    return types


def _said_types(
    node: Mapping[str, Any], root: Mapping[str, Any], known: dict[int, Types], hops: int
) -> Types:
    declared = node.get("type")
    if isinstance(declared, str):
        return frozenset({_json_type(declared)})
    if isinstance(declared, list | tuple):
        return frozenset(_json_type(t) for t in declared if isinstance(t, str))
    if "$ref" in node:
        return _types(_follow(node["$ref"], root), root, known, hops)
    if "const" in node or isinstance(node.get("enum"), list):
        return frozenset(map(type_name, node.get("enum") or [node.get("const")]))
    for key in ("anyOf", "oneOf"):
        if isinstance(node.get(key), list):
            return frozenset().union(*(_types(part, root, known, hops) for part in node[key]))
    if isinstance(node.get("allOf"), list):
        return _common(_types(part, root, known, hops) for part in node["allOf"])
    return frozenset(kind for keyword, kind in _KEYWORDS.items() if keyword in node)


def _json_type(name: str) -> str:
    """Return the JSON type that a schema means, if its author used another language's word."""
    word = name.lower()
    if word in _JSON_TYPES:
        return word
    return next((kind for kind, words in _FOREIGN.items() if words.fullmatch(word)), name)


def _common(parts: Iterable[Types]) -> Types:
    stated = [part for part in parts if part]
    return frozenset.intersection(*stated) if stated else frozenset()


def _alternatives(node: Any, root: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return the node and all nodes it refers to or combines, in order."""
    pending, seen = [node], set[int]()
    while pending and len(seen) < _MOST_PARTS:
        part = _resolve(pending.pop(), root)
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        for key in reversed(_COMBINATORS):
            parts = part.get(key)
            pending.extend(reversed(parts) if isinstance(parts, list) else ())


def _resolve(node: Any, root: Mapping[str, Any]) -> Any:
    for _ in range(_MAX_HOPS):
        if not isinstance(node, Mapping) or "$ref" not in node:
            return node
        node = _follow(node["$ref"], root)
    return None


def _follow(ref: Any, root: Mapping[str, Any]) -> Any:
    """Resolve a local `$ref`; None if it does not resolve."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    target: Any = root
    for part in ref[1:].strip("/").split("/") if ref != "#" else ():
        if not isinstance(target, Mapping):
            return None
        target = target.get(part.replace("~1", "/").replace("~0", "~"))
    return target
