"""How long can it take to check arguments against a schema? An upper bound, found by counting.

A hundred lines of `$ref` and `anyOf` can stand for a billion checks of one value. So before
anything is compiled, the ways from part to part are counted: not by walking them, but by adding up
for each part, once, what the parts behind it come to. For a value in the arguments, `first` is the
cost of the outermost one and `each` that of any other, by how deep the arguments are nested, since
a schema that refers to itself twice costs more with every level.

A *unit* is about 20 ns of jsonschema-rs. Numbers stop at `CEILING`, which stands for any above.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from toolwire.protocol.schemas.graph import Node, SchemaGraph

CEILING = 1 << 40
_LEVELS = 12
"""How deep arguments are looked at where the cost grows with every level."""
_PASSES = 12_000
"""Parts that are looked at again for the next level, in all: the more parts, the fewer levels."""
_ENOUGH = 1 << 24
"""A cost at which it does not matter any more how fast it grows."""
_AGAIN = 3
"""How often `unevaluated...` has a part checked: by itself, and twice to see what it looked at."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What is counted for the outermost value, and at most for any other at depth 1, 2, 3..."""

    first: int
    each: tuple[int, ...]
    grows: bool = False
    """Whether values that are deeper still may cost more."""

    def of(self, values: int, depth: int) -> int:
        """The sum for so many values, nested so deep."""
        levels = len(self.each)
        if depth > levels and self.grows:
            return CEILING
        return min(self.first + (values - 1) * self.each[min(depth, levels) - 1], CEILING)


@dataclass(frozen=True, slots=True)
class SchemaCost:
    """The bounds of one schema."""

    units: Bound
    visits: Bound
    """How often any part is checked at all, which is what an error has to account for."""
    reading: Bound
    """Units for each character: of patterns."""
    widest: int
    """The most checks that any one part needs for one value, whatever is in it."""
    where: int | None
    """The `id` of a part that needs them."""
    compiling: int
    """What it takes to compile, beyond what is proportional to its size."""
    certain: bool = True

    def of(self, text: str) -> tuple[int, int]:
        """Units and visits that arguments can take at most, which are written as `text`."""
        if not self.certain:
            return CEILING, CEILING
        # No value takes less than two characters.
        cost = self._of(len(text), len(text) // 2 + 1, len(text) // 2 + 1)
        if cost[0] < _WORTH_COUNTING or "\\u" in text:
            return cost
        opened = text.count("{") + text.count("[")
        depth = _depth(text) if self.units.grows and opened > _LEVELS else opened
        return self._of(len(text), text.count(",") + opened + 1, max(depth, 1))

    def _of(self, length: int, values: int, depth: int) -> tuple[int, int]:
        read = self.reading.of(2, depth)
        units = self.units.of(values, depth) + length * read
        return min(units, CEILING), self.visits.of(values, depth)


_WORTH_COUNTING = 1000
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def _depth(text: str) -> int:
    """How deep JSON is nested at most, also if what is in one of its strings is JSON, too."""
    outside = _STRING.sub("", text)
    if "'" in outside or '"' in outside:  # it is not quite JSON: what is a string is not known
        return text.count("{") + text.count("[")
    inside = max([s.count("{") + s.count("[") for s in _STRING.findall(text)], default=0)
    level = deepest = 0
    for bracket in _BRACKET.findall(outside):
        level += _STEP[bracket]
        deepest = max(deepest, level)
    return deepest + inside


def estimate(schema: Mapping[str, Any]) -> SchemaCost:
    """The cost of a schema. Takes time proportional to its size; never fails."""
    graph = SchemaGraph(schema)
    nodes = graph.nodes
    order, recursive = graph.order(Node.next)
    certain = graph.certain
    if recursive:
        order, circular = graph.order(attrgetter("same"))
        certain = certain and not circular
    count = _Count(nodes, order, recursive=recursive)
    visits = count.bound([1] * len(nodes), [0] * len(nodes))
    most, compiling = max(count.here), count.compiling
    widest = count.here.index(most)
    return SchemaCost(
        visits=visits,
        units=count.bound([node.weight for node in nodes], [node.keys for node in nodes]),
        reading=count.bound(
            [node.reading for node in nodes], [node.keys_reading for node in nodes]
        ),
        widest=most,
        where=next((part for part, at in graph.place.items() if at == widest), None),
        compiling=compiling,
        certain=certain,
    )


class _Count:
    """Adds up what parts come to, one measure at a time. `order` is of parts that are checked
    against the same value; of all parts, if none leads back to itself."""

    def __init__(self, nodes: Sequence[Node], order: Sequence[int], *, recursive: bool) -> None:
        self.here: list[int] = []
        """What each part comes to for one value, without what is inside it."""
        self._below = 0
        self._nodes = nodes
        self._order = order
        self._recursive = recursive

    @property
    def compiling(self) -> int:
        """What the parts come to that are gone through once more when they are compiled."""
        return sum([self.here[at] for at, node in enumerate(self._nodes) if node.unevaluated])

    def bound(self, weights: list[int], keys: list[int]) -> Bound:
        """The bound of the root, if each part, and each name it looks at, weighs so much."""
        worst = before = [0] * len(self._nodes)
        self._below = 0
        if not any(weights) and not any(keys):
            return Bound(0, (0,))
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
        # The first time, nothing was below anything yet.
        return Bound(self.here[0], tuple(each[1:]) or (0,), grows=worst != before)

    def _sweep(
        self, weights: list[int], keys: list[int], under: list[int], worst: list[int]
    ) -> None:
        """One pass. `under`: what parts come to for a value below; the result goes to `worst`.

        If none leads back to itself they are the same list, and one pass finds all.
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
