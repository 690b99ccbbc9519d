"""The graph of subschemas that validating a value can reach.

A subschema has one node, however often it is referenced. Subschemas without children are leaves.
Leaves of equal weight share a node, because most of a schema is leaves.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from toolwire.protocol.schemas.patterns import pattern_cost
from toolwire.protocol.schemas.repair import ANCHORS, find_ref

_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_MAPS = {
    "properties": "named",
    "patternProperties": "members",
    "dependentSchemas": "same",
    "dependencies": "same",
}
_LISTS = {"anyOf": "same", "oneOf": "same", "allOf": "same", "prefixItems": "placed"}
_SINGLE = {
    "not": "same",
    "if": "same",
    "then": "same",
    "else": "same",
    "additionalProperties": "members",
    "unevaluatedProperties": "members",
    "propertyNames": "members",
    "items": "elements",
    "additionalItems": "elements",
    "contains": "elements",
    "unevaluatedItems": "elements",
}
_LEADING = frozenset((*_REFS, *_MAPS, *_LISTS, *_SINGLE, "uniqueItems"))
_DATA = ("enum", "const", "required", "dependentRequired", "dependencies", "type")
"""Keywords whose check takes time proportional to their size."""
_NAMES = ("required", "dependentRequired", "dependencies")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_BOUND = 75
_MULTIPLE = 120
_SMALL_MULTIPLE = 1200
"""Numbers are compared exactly, as fractions of integers of any size."""
_SMALL = 1e-10
_REQUIRED_PER_FAULT = 20
"""Every missing name is a fault of its own, if a small one."""
_COMPARED = 16
"""Cost per value of an array whose elements are compared with one another."""
_KEY_PATTERN = 25
_FORMAT = 4
_UNEVALUATED_WEIGHT = 25

_NUMERIC = frozenset((*_BOUNDS, "multipleOf"))
_NO_NUMBERS = str | bool | None

Follow: TypeAlias = Callable[["SchemaNode"], Iterable[int]]


class SchemaNode:
    """A subschema, and the subschemas that it leads to.

    `same` check the same value. Of `named` and `placed`, at most one checks a given member or
    element; all of `members` and `elements` do.
    """

    __slots__ = (
        "comparing", "elements", "faults", "keys", "keys_reading", "members", "named", "placed",
        "reading", "same", "unevaluated", "weight",
    )  # fmt: skip

    def __init__(self, weight: int = 1, reading: int = 0, faults: int = 1) -> None:
        self.weight = weight
        self.reading = reading
        """The cost per character of a string."""
        self.faults = faults
        """The cost of describing what is wrong with a value."""
        self.keys = self.keys_reading = 0
        """The cost per character of a member's name."""
        self.comparing = 0
        self.unevaluated = False
        self.same: list[int] = []
        self.named: list[int] = []
        self.placed: list[int] = []
        self.members: list[int] = []
        self.elements: list[int] = []

    def next(self) -> Iterator[int]:
        """Every subschema that it leads to."""
        for group in (self.same, self.named, self.placed, self.members, self.elements):
            yield from group


class SchemaGraph:
    """The subschemas reachable from the root, which comes first."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.nodes: list[SchemaNode] = []
        self.certain = True
        """Whether every reference was resolved."""
        self.numeric = self.comparing = False
        """Whether numbers are compared with those of the schema, or with one another."""
        self.place: dict[int, int] = {}
        """The node of a subschema, by its `id()`."""
        self._root = schema
        self._leaves: dict[tuple[int, ...], int] = {}
        self._refs: dict[str, list[Any]] = {}
        self._anchors: dict[str, list[Any]] | None = None
        self._pending: list[tuple[Mapping[str, Any], SchemaNode]] = []
        self._add(schema, inner=False)
        while self._pending:
            part, node = self._pending.pop()
            self._connect(part, node)

    def order(self, follow: Follow) -> tuple[list[int], bool]:
        """Return the nodes in topological order, children first, and whether there is a cycle."""
        order: list[int] = []
        looping = False
        state = bytearray(len(self.nodes))  # 1: being visited, 2: done
        for first in range(len(self.nodes)):
            if state[first]:
                continue
            state[first] = 1
            way = [(first, iter(follow(self.nodes[first])))]
            while way:
                at, ahead = way[-1]
                for to in ahead:
                    looping = looping or state[to] == 1
                    if not state[to]:
                        state[to] = 1
                        way.append((to, iter(follow(self.nodes[to]))))
                        break
                else:
                    state[at] = 2
                    order.append(at)
                    way.pop()
        return order, looping

    def _add(self, part: Any, *, inner: bool = True) -> int:
        """Return the index of a subschema, which may not be a valid schema."""
        if not isinstance(part, dict):
            return self._leaf(1, 0, 1)
        self.numeric = self.numeric or _is_numeric(part)
        if inner and _LEADING.isdisjoint(part):
            return self._leaf(_weight(part), _reading(part), _faults(part))
        known = self.place.get(id(part))
        if known is not None:
            return known
        node = SchemaNode(_weight(part), _reading(part), _faults(part))
        number = self.place[id(part)] = len(self.nodes)
        self.nodes.append(node)
        self._pending.append((part, node))
        if inner and (isinstance(part.get("$id"), str) or isinstance(part.get("id"), str)):
            self.certain = False  # an embedded document: its references are not resolved
        return number

    def _leaf(self, *costs: int) -> int:
        number = self._leaves.get(costs)
        if number is None:
            number = self._leaves[costs] = len(self.nodes)
            self.nodes.append(SchemaNode(*costs))
        return number

    def _connect(self, part: Mapping[str, Any], node: SchemaNode) -> None:
        for key, value in part.items():
            if key not in _LEADING:
                continue
            if key in _REFS:
                node.same += [self._add(found) for found in self._follow(key, value)]
            elif isinstance(value, list):  # older drafts allow a list in `items`
                group = getattr(node, _LISTS.get(key, "placed"))
                group += [self._add(inner) for inner in value]
            elif key in _SINGLE:
                getattr(node, _SINGLE[key]).append(self._add(value))
            elif key in _MAPS and isinstance(value, dict):
                getattr(node, _MAPS[key]).extend([self._add(inner) for inner in value.values()])
        self._weigh_more(part, node)

    def _weigh_more(self, part: Mapping[str, Any], node: SchemaNode) -> None:
        if isinstance(patterns := part.get("patternProperties"), dict):
            node.keys = _KEY_PATTERN * len(patterns)
            node.keys_reading = sum(map(pattern_cost, patterns))
        if "uniqueItems" in part:
            node.comparing = _COMPARED
            self.comparing = True
        if not part.keys().isdisjoint(_UNEVALUATED):
            node.unevaluated = True
            node.weight += _UNEVALUATED_WEIGHT

    def _follow(self, keyword: str, ref: Any) -> list[Any]:
        """Return every subschema that a reference may lead to."""
        if not isinstance(ref, str):
            return []
        if not ref.startswith("#"):
            self.certain = False
            return []
        known = self._refs.get(ref)
        if known is None:
            found = find_ref(self._root, ref)
            known = self._refs[ref] = [*found] if found else self._anchored(ref[1:])
        # A dynamic reference may lead to any subschema with the same anchor.
        return [*known, *self._anchored("")] if keyword == "$recursiveRef" else known

    def _anchored(self, name: str) -> list[Any]:
        if self._anchors is None:
            self._anchors = {}
            for part in _every(self._root):
                for key in ANCHORS:
                    if isinstance(mark := part.get(key), str):
                        self._anchors.setdefault(mark, []).append(part)
                if part.get("$recursiveAnchor") is True:
                    self._anchors.setdefault("", []).append(part)
        return self._anchors.get(name, [])


def _every(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every object in this JSON."""
    pending = [value]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            yield here
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)


def _weight(part: Mapping[str, Any]) -> int:
    weight = 1 + len(part)
    for key in _DATA:
        if key in part:
            weight += _size(part[key])
    if isinstance(named := part.get("properties"), dict):
        weight += len(named)
    for key in _BOUNDS:
        if key in part:
            weight += _BOUND
    if isinstance(multiple := part.get("multipleOf"), int | float):
        weight += _MULTIPLE if multiple > _SMALL else _SMALL_MULTIPLE
    return weight


def _is_numeric(part: Mapping[str, Any]) -> bool:
    """Whether a value is compared with a number, or with something that may hold one."""
    if not _NUMERIC.isdisjoint(part) or not isinstance(part.get("const"), _NO_NUMBERS):
        return True
    options = part.get("enum")
    return isinstance(options, list) and not all(isinstance(one, _NO_NUMBERS) for one in options)


def _faults(part: Mapping[str, Any]) -> int:
    return 1 + sum([_size(part[key]) for key in _NAMES if key in part]) // _REQUIRED_PER_FAULT


def _size(value: Any) -> int:
    """Count the values nested in a value."""
    size = 0
    pending = [value]
    while pending:
        here = pending.pop()
        size += 1
        if isinstance(here, dict):
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)
    return size


def _reading(part: Mapping[str, Any]) -> int:
    pattern = part.get("pattern")
    cost = pattern_cost(pattern) if isinstance(pattern, str) else 0
    return cost + _FORMAT if "format" in part else cost
