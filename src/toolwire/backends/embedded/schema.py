"""Narrows a JSON Schema for constrained decoding in the engine.

What matches the narrowed schema also matches the original: undeclared properties are not allowed
and, for a model that would never stop, strings and arrays are bounded. What a grammar cannot
express (`not`, `if`, look-ahead in patterns) is dropped here. The answer is validated against the
full schema, as for every backend.
"""

import re
from collections.abc import Mapping
from math import inf
from typing import Any, cast

import msgspec

from toolwire.backends.embedded.tuning import UNBOUNDED, Bounds
from toolwire.protocol.schemas.walk import walk

MOST_ITEMS = 1000
"""The longest array with a bound: a grammar has a rule for each item."""

MOST_OPTIONAL = 400
"""The most optional properties of an object: from 500 on, llguidance drops the grammar midway."""

_ON_ONE_LINE = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "coerce_one_of": True,
    "lenient": True,
}
"""JSON separators as in prompts. Free white space was 30 % of a call's tokens."""

_SAYS_WHAT = frozenset(
    ("properties", "patternProperties", "additionalProperties", "required", "allOf", "anyOf",
     "oneOf", "$ref", "enum", "const")
)  # fmt: skip
_SCALARS = ("string", "number", "boolean", "null")
_JOINED = ("anyOf", "oneOf", "$ref")
_FIXED = ("$ref", "enum", "const")
_LOOKS_AROUND = re.compile(r"\(\?[=!<]|\\[bB1-9]")


def narrowed(
    schema: bytes, bounds: Bounds = UNBOUNDED, *, separate: bool = False
) -> dict[str, Any]:
    """Return the schema to constrain the model to. Raises `ValueError` if nothing can match it.

    `separate`: its `$defs` are complete schemas that do not refer to each other.
    """
    root = msgspec.json.decode(schema)
    if not isinstance(root, dict):
        raise ValueError("a JSON Schema must be an object")
    for part in root.get("$defs", {}).values() if separate else [root]:
        _close(part)
    for sub, _, _ in walk(root):
        _narrow(cast("dict[str, Any]", sub), bounds)
    return root


def grammar_of(schema: Mapping[str, Any]) -> str:
    """Return the schema as a grammar, for an engine built with llguidance."""
    text = msgspec.json.encode({**schema, "x-guidance": _ON_ONE_LINE}).decode()
    return f"%llguidance {{}}\nstart: %json {text}\n"


def _is_composed(schema: Mapping[str, Any]) -> bool:
    """Whether several schemas describe one object, so that none may be closed by itself."""
    return "allOf" in schema or ("properties" in schema and any(key in schema for key in _JOINED))


def _close(schema: Any) -> None:
    """Disallow undeclared properties."""
    schemas = [cast("dict[str, Any]", sub) for sub, _, _ in walk(schema)]
    if any(map(_is_composed, schemas)):
        return
    for sub in schemas:
        if sub.get("properties") and "patternProperties" not in sub:
            sub.setdefault("additionalProperties", False)


def _narrow(schema: dict[str, Any], bounds: Bounds) -> None:
    if bounds.array and schema.get("type") == "object" and not _SAYS_WHAT.intersection(schema):
        # Any object: without nested objects, or it could nest forever.
        schema["additionalProperties"] = {"type": _SCALARS, "maxLength": bounds.string}
        _limit(schema, "Properties", bounds.array)
    if len(schema.get("properties", {}).keys() - schema.get("required", ())) > MOST_OPTIONAL:
        raise ValueError(f"an object has more than {MOST_OPTIONAL} optional properties")
    if _LOOKS_AROUND.search(str(schema.get("pattern", ""))):
        del schema["pattern"]
    if not any(key in schema for key in _FIXED):
        _limit(schema, "Length", bounds.string)
        _limit(schema, "Items", bounds.array, MOST_ITEMS)


def _limit(schema: dict[str, Any], what: str, bound: int, most: float = inf) -> None:
    """Set an upper limit: the schema's own, else the bound, but not below the lower limit."""
    least, own = schema.get(f"min{what}", 0), schema.get(f"max{what}")
    if not isinstance(least, int) or not isinstance(own, int | None):
        return
    limit = own if own is not None else max(bound, least) if bound else None
    highest = min(most, inf if limit is None else limit)
    if least > highest:
        # llama.cpp would search for a match forever, and exhaust memory.
        raise ValueError(f"nothing can have min{what} {least} with max{what} {highest}")
    if limit is not None:
        schema[f"max{what}"] = highest
