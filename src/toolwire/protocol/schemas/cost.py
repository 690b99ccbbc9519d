"""Estimates an upper bound on the time to validate arguments against a schema.

A hundred lines of `$ref` and `anyOf` can expand to a billion checks of one value. So the paths
between subschemas are counted before anything is compiled. Paths are not walked: each subschema
adds up the totals of its children once. `first` is the cost of the outermost value, and `each` the
cost of any other value by nesting depth, because a schema that refers to itself twice gets more
expensive with every level.

A *unit* is about 20 ns of jsonschema-rs. Numbers saturate at `CEILING`.
"""

import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import structs

from toolwire.protocol.json_numbers import shape_of_numbers
from toolwire.protocol.schemas.graph import SchemaGraph, SchemaNode

CEILING = 1 << 40
CHEAP = 20_000
_SHORT = 1000
_SHORTEST_LONG_NUMBER = 100
_MOST_FEW = 8
_LEVELS = 12
"""Maximum depth to which a cost that grows with every level is computed."""
_PASSES = 12_000
"""Total budget of subschemas revisited per level: larger schemas get fewer levels."""
_ENOUGH = 1 << 24
"""A cost above which further growth is irrelevant."""
_AGAIN = 3
"""`unevaluated...` checks a subschema three times: once itself, twice to find what it evaluated."""


class Bound(msgspec.Struct, frozen=True):
    """The count for the outermost value, and the maximum for any other at depth 1, 2, 3..."""

    first: int
    each: tuple[int, ...]
    grows: bool = False
    """Whether deeper values may cost more."""

    def of(self, values: int, depth: int) -> int:
        """The total for this many values, nested this deep."""
        levels = len(self.each)
        if depth > levels:
            if self.grows:
                return CEILING
            depth = levels
        total = self.first + (values - 1) * self.each[depth - 1]
        return total if total < CEILING else CEILING


_NOTHING = Bound(0, (0,))


class SchemaCost(msgspec.Struct, frozen=True):
    """The bounds of one schema."""

    units: Bound
    visits: Bound
    """Number of subschema checks and missing names, which determines the cost of reporting an
    error."""
    reading: Bound
    """Units per character, for patterns."""
    widest: int
    """The most checks that any subschema needs for one value, in the worst case."""
    where: int | None
    """The `id()` of a subschema with that maximum."""
    compiling: int
    """The cost to compile it, beyond what is proportional to its size."""
    numeric: bool = False
    comparing: bool = False
    """Whether numbers are compared with those of the schema, or with one another."""
    certain: bool = True
    short: int = 0
    """The length up to which a text with few values is cheap, whatever it holds."""
    few: int = 0
    """How many values are few: such a text costs at most `CHEAP`."""

    def units_of(self, text: str) -> int:
        """Return the maximum units for arguments with this JSON `text`."""
        unusual = (self.numeric or self.comparing) and _has_unusual_number(text)
        if not self.certain or (unusual and _LONG_NUMBER.search(text)):
            return CEILING
        values, depth = self._size(text)
        units = self.units.of(values, depth)
        if self.reading is not _NOTHING:
            units += len(text) * self.reading.of(2, depth)
        if unusual:
            units *= _times_unusual(values if self.comparing else 0)
        return min(units, CEILING)

    def visits_of(self, text: str) -> int:
        """Return the maximum visits for arguments with this JSON `text`."""
        calculates = self.numeric or self.comparing
        if not self.certain or (calculates and _LONG_NUMBER.search(text)):
            return CEILING
        return self.visits.of(*self._size(text))

    def _size(self, text: str) -> tuple[int, int]:
        """Return the maximum number of values, and their maximum depth."""
        if "\\u" in text:  # which may hide a bracket or a comma of JSON within a string
            most = len(text) // 2 + 1  # every value takes at least two characters
            return most, most
        opened = text.count("{") + text.count("[")
        depth = _depth(text) if self.units.grows and opened > _LEVELS else opened or 1
        return text.count(",") + opened + 1, depth


_UNUSUAL_NUMBER = re.compile(r"[0-9]{17}|[0-9][eE][-+]?[0-9]{2}|\\u003[0-9]")
"""Numbers that may not be exact as floats, or are large as fractions. Digits may be escaped."""
_MANY_DIGITS = b"0" * 17
_LONG_NUMBER = re.compile(rf"[0-9]{{{_SHORTEST_LONG_NUMBER}}}|\\u003[0-9]")
"""Comparing these takes time by the square of their length."""
_TIMES_UNUSUAL = 25
_TIMES_EQUAL = 3
"""Integers that are equal as floats share a hash, so each is compared with all others."""
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def _has_unusual_number(text: str) -> bool:
    shape = shape_of_numbers(text)
    find = shape.find  # faster than `in`, which raises an exception within Python
    if find(_MANY_DIGITS) >= 0 or find(b"0e") >= 0 or find(b"\\u00") >= 0:
        return _UNUSUAL_NUMBER.search(text) is not None
    return False


def _depth(text: str) -> int:
    """Return the maximum nesting of JSON, including JSON inside its strings."""
    outside = _STRING.sub("", text)
    if "'" in outside or '"' in outside:  # not quite JSON: strings cannot be told apart
        return text.count("{") + text.count("[")
    inside = max([s.count("{") + s.count("[") for s in _STRING.findall(text)], default=0)
    level = deepest = 0
    for bracket in _BRACKET.findall(outside):
        level += _STEP[bracket]
        deepest = max(deepest, level)
    return deepest + inside


def estimate(schema: Mapping[str, Any]) -> SchemaCost:
    """Estimate the cost of a schema, in linear time. Never fails."""
    graph = SchemaGraph(schema)
    nodes = graph.nodes
    order, recursive = graph.order(SchemaNode.next)
    certain = graph.certain
    if recursive:
        order, circular = graph.order(attrgetter("same"))
        certain = certain and not circular
    count = _Count(nodes, order, recursive=recursive)
    nothing = [0] * len(nodes)
    visits = count.bound([1] * len(nodes), nothing)
    most, compiling = max(count.here), count.compiling
    widest = count.here.index(most)
    faults = [node.faults for node in nodes]
    cost = SchemaCost(
        visits=visits if max(faults) == 1 else count.bound(faults, nothing),
        units=count.bound([node.weight for node in nodes], [node.keys for node in nodes]),
        reading=count.bound(
            [node.reading for node in nodes], [node.keys_reading for node in nodes]
        ),
        widest=most,
        where=next((part for part, at in graph.place.items() if at == widest), None),
        compiling=compiling,
        numeric=graph.numeric,
        comparing=graph.comparing,
        certain=certain,
    )
    return structs.replace(cost, **_cheap(cost)) if certain else cost


def _cheap(cost: SchemaCost) -> dict[str, int]:
    """Return which texts are cheap even if all of their numbers are unusual."""
    calculates = cost.numeric or cost.comparing
    short = _SHORTEST_LONG_NUMBER - 1 if calculates else _SHORT
    few = 0
    for values in range(1, _MOST_FEW + 1):
        units = cost.units.of(values, values) + short * cost.reading.of(2, values)
        if calculates:
            units *= _times_unusual(values if cost.comparing else 0)
        if units > CHEAP:
            break
        few = values
    return {"short": short, "few": few}


def _times_unusual(compared: int) -> int:
    """How much longer unusual numbers take; `compared`: the values compared with one another."""
    return _TIMES_UNUSUAL + _TIMES_EQUAL * compared


class _Count:
    """Adds up the cost of subschemas, one measure at a time. `order` covers subschemas that check
    the same value, or all of them if there is no cycle."""

    def __init__(
        self, nodes: Sequence[SchemaNode], order: Sequence[int], *, recursive: bool
    ) -> None:
        self.here: list[int] = []
        """The cost of each subschema for one value, without nested values."""
        self._below = 0
        self._nodes = nodes
        self._order = order
        self._recursive = recursive

    @property
    def compiling(self) -> int:
        """The cost of subschemas that are visited again during compilation."""
        return sum([self.here[at] for at, node in enumerate(self._nodes) if node.unevaluated])

    def bound(self, weights: list[int], keys: list[int]) -> Bound:
        """Return the bound of the root, given the weight of each subschema and each name."""
        worst = before = [0] * len(self._nodes)
        self._below = 0
        if not any(weights) and not any(keys):
            return _NOTHING
        if not self._recursive:
            self._sweep(weights, keys, worst, worst)
            return Bound(self.here[0], (self._below,))
        each: list[int] = []
        levels = min(_LEVELS, 2 + _PASSES // len(worst))
        while len(each) <= levels and self._below < _ENOUGH:
            before, worst = worst, [0] * len(self._nodes)
            self._sweep(weights, keys, before, worst)
            each.append(self._below)
            if worst == before:
                break
        # The first sweep ran without any costs from below.
        return Bound(self.here[0], tuple(each[1:]) or (0,), grows=worst != before)

    def _sweep(
        self, weights: list[int], keys: list[int], under: list[int], worst: list[int]
    ) -> None:
        """Run one pass. `under`: the cost of subschemas for nested values. Updates `worst`.

        Without cycles both are the same list, and one pass is enough.
        """
        size = len(self._nodes)
        here, members, elements = weights.copy(), keys.copy(), [0] * size
        for at in self._order:
            node = self._nodes[at]
            times = _AGAIN if node.unevaluated else 1
            member, element = keys[at] + node.comparing, node.comparing
            if node.same:
                own = sum([here[to] for to in node.same]) * times
                member += sum([members[to] for to in node.same]) * times
                element += sum([elements[to] for to in node.same]) * times
                if node.unevaluated:
                    member, element = member + own, element + own
                here[at] = min(weights[at] + own, CEILING)
            if node.named:
                member += max([under[to] for to in node.named])
            if node.placed:
                element += max([under[to] for to in node.placed])
            for to in node.members:
                member += under[to]
            for to in node.elements:
                element += under[to]
            members[at] = min(member, CEILING)
            elements[at] = min(element, CEILING)
            worst[at] = max(here[at], members[at], elements[at])
        self.here = here
        self._below = max(members[0], elements[0])
