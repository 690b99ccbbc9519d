"""Removes dangling references and expensive patterns from a schema.

The schema then allows anything in their place. The caller reports this, or refuses the schema.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from toolwire.protocol.schemas.patterns import pattern_cost
from toolwire.protocol.schemas.walk import walk

_COSTLIEST = 4_500
"""Maximum cost of one pattern: about 700 kB and 20 ms."""
ANCHORS = ("$anchor", "$dynamicAnchor")


def weigh_patterns(schema: Any, budget: int) -> tuple[frozenset[str], int]:
    """Return the patterns that are too expensive, and the cost of compiling the others."""
    costly: set[str] = set()
    spent = 0
    for pattern in dict.fromkeys(patterns_of(schema)):
        cost = pattern_cost(pattern)
        if cost > _COSTLIEST or spent + cost > budget:
            costly.add(pattern)
        else:
            spent += cost
    return frozenset(costly), spent


def patterns_of(schema: Any) -> Iterator[str]:
    """Yield every possible pattern, even in places that no draft reads."""
    pending = [schema]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            if isinstance(pattern := here.get("pattern"), str):
                yield pattern
            if isinstance(group := here.get("patternProperties"), dict):
                yield from group
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)


def without_patterns(value: Any, gone: frozenset[str]) -> Any:
    """Return a copy without these patterns."""
    if isinstance(value, list):
        return [without_patterns(item, gone) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: without_patterns(item, gone)
        for key, item in value.items()
        if not (key == "pattern" and isinstance(item, str) and item in gone)
    }
    if isinstance(group := value.get("patternProperties"), dict) and not gone.isdisjoint(group):
        # A property that matched a removed pattern must not become an unknown property.
        kept["patternProperties"] = {k: v for k, v in group.items() if k not in gone}
        kept.pop("additionalProperties", None)
        kept.pop("unevaluatedProperties", None)
    return kept


def dangling_refs(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return every `$ref` that does not resolve inside this schema."""
    refs = [sub["$ref"] for sub, _, _ in walk(schema) if sub.get("$ref") is not None]
    if not refs:
        return frozenset()
    anchors = {f"#{sub[key]}" for sub, _, _ in walk(schema) for key in ANCHORS if key in sub}
    return frozenset(
        str(ref)
        for ref in refs
        if not (isinstance(ref, str) and (ref in anchors or find_ref(schema, ref)))
    )


def find_ref(schema: Mapping[str, Any], ref: str) -> tuple[Any] | None:
    """Resolve a `$ref` by JSON pointer. Return the target in a tuple, or None."""
    if ref == "#":
        return (schema,)
    if not ref.startswith("#/"):
        return None
    here: Any = schema
    for step in unquote(ref[2:]).split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and key in here:
            here = here[key]
        elif isinstance(here, list) and _is_index(key, here):
            here = here[int(key)]
        else:
            return None
    return (here,)


def _is_index(key: str, array: list[Any]) -> bool:
    return key.isdecimal() and len(key) < 10 and int(key) < len(array)


def without_refs(value: Any, gone: frozenset[str]) -> Any:
    """Return a copy without the `$ref`s in `gone`."""
    if isinstance(value, list):
        return [without_refs(item, gone) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_refs(item, gone)
        for key, item in value.items()
        if not (key == "$ref" and str(item) in gone)
    }
