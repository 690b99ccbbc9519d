"""Checks tool schemas, strict or not.

Schemas come from clients, so they are untrusted. Nothing here follows a remote `$ref`, recurses
without bound, or compiles a pattern or a schema of unknown cost. jsonschema-rs works offline and
uses a linear-time regex engine. Patterns that this engine does not support are refused, or removed
and reported.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

import jsonschema_rs
import msgspec

from toolwire.errors import ToolSchemaError
from toolwire.protocol.json_limits import is_deeper
from toolwire.protocol.schemas.cost import SchemaCost, estimate
from toolwire.protocol.schemas.meta import in_known_draft, meta_fault
from toolwire.protocol.schemas.repair import (
    dangling_refs,
    patterns_of,
    weigh_patterns,
    without_patterns,
    without_refs,
)
from toolwire.protocol.schemas.strict import strict_fault
from toolwire.protocol.schemas.walk import walk

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool without `parameters`. Sent upstream because templates index into it."""

PATTERN_BUDGET = 5_000
"""Budget for compiling the patterns of one request: about 25 ms."""

MOST_CHECKS = 1 << 20
"""Maximum number of subschema checks for one value, in the worst case."""

_MOST_COMPILING = 500
"""Compile budget of one schema: `unevaluatedProperties` expands every subschema that it can reach,
at about 35 us each."""

_PATTERNS = jsonschema_rs.RegexOptions(size_limit=4 << 20, dfa_size_limit=1 << 20)
_ANY_PATTERNS = jsonschema_rs.FancyRegexOptions(size_limit=4 << 20, dfa_size_limit=1 << 20)
"""Tells an unsupported pattern from an invalid one. Nothing is matched with it."""
_SUSPECT = re.compile(r"\(\?<?[=!]|\\[1-9]")
"""Look-arounds and backreferences, or anything that resembles one."""


class SchemaLimits(msgspec.Struct, frozen=True):
    """Limits on the size of a tool's schema."""

    depth: int = 128
    strict_properties: int = 100
    strict_depth: int = 5
    size: int = 512 << 10
    """In bytes of JSON."""


class CheckedSchema(msgspec.Struct, frozen=True):
    """A valid schema with its validator, its cost and its repairs."""

    schema: Mapping[str, Any]
    validator: jsonschema_rs.Validator | None
    """None if it is too expensive to compile in the event loop."""
    cost: SchemaCost
    repairs: tuple[str, ...] = ()
    pattern_cost: int = 0


def check_schema(
    schema: Mapping[str, Any],
    *,
    tool: str,
    strict: bool,
    limits: SchemaLimits,
    pattern_budget: int = PATTERN_BUDGET,
) -> CheckedSchema:
    """Check and compile a tool's parameters. Raises `ToolSchemaError` with the location."""
    if is_deeper(schema, limits.depth):
        raise _invalid(tool, f"it is nested more than {limits.depth} levels deep.")
    schema = in_known_draft(schema or NO_ARGUMENTS)
    if (root := schema.get("type")) != "object":
        raise _invalid(
            tool,
            "schema must be a JSON Schema of 'type: \"object\"', "
            f"got 'type: \"{_brief(str(root))}\"'.",
        )
    costly, cost = weigh_patterns(schema, pattern_budget)
    if strict:
        _check_strict(schema, tool, limits, costly)
        return _checked(schema, tool, (), cost)
    if costly:
        schema = without_patterns(schema, costly)
    _check_meta(schema, tool)
    if dangling := dangling_refs(schema):
        schema = without_refs(schema, dangling)
    if unsupported := _unsupported(schema):
        schema = without_patterns(schema, unsupported)
    repairs = (
        *_said("costly_pattern", tool, costly),
        *_said("unsupported_pattern", tool, unsupported),
        *_said("dangling_ref", tool, dangling),
    )
    return _checked(schema, tool, repairs, cost)


def _check_strict(
    schema: Mapping[str, Any], tool: str, limits: SchemaLimits, costly: Collection[str]
) -> None:
    """Refuse repairs: calls of a strict tool must be valid, so no keyword may go unchecked."""
    for pattern in costly:
        raise _invalid(tool, f"the 'pattern' {_brief(pattern)!r} is too costly to check.")
    _check_meta(schema, tool)
    fault = strict_fault(schema, properties=limits.strict_properties, depth=limits.strict_depth)
    if fault is not None:
        raise _invalid(tool, fault)
    for ref in sorted(dangling_refs(schema)):
        raise _invalid(tool, f"'$ref' {_brief(ref)!r} leads nowhere.")
    for pattern in sorted(_unsupported(schema)):
        raise _invalid(
            tool,
            f"the 'pattern' {_brief(pattern)!r} has a look-around or a backreference, "
            "which cannot be checked in linear time. Write it without.",
        )


def _checked(
    schema: Mapping[str, Any], tool: str, repairs: tuple[str, ...], pattern_cost: int
) -> CheckedSchema:
    """Return the schema with its cost, compiled unless that is too slow."""
    cost = estimate(schema)
    if cost.widest > MOST_CHECKS:
        context = next((where for sub, where, _ in walk(schema) if id(sub) == cost.where), ())
        raise _invalid(
            tool,
            f"In context={_brief(str(context))}, to check one value can take more than "
            f"{MOST_CHECKS} steps, because '$ref', 'anyOf', 'allOf' and the like multiply. "
            "Refer to fewer alternatives, or nest them less deep.",
        )
    here = cost.certain and cost.compiling <= _MOST_COMPILING
    validator = compile_schema(schema, tool) if here else None
    return CheckedSchema(schema, validator, cost, repairs, pattern_cost)


def _said(what: str, tool: str, gone: Collection[str]) -> list[str]:
    return [f"{what}:{tool}:{_brief(text)}" for text in sorted(gone)]


def _check_meta(schema: Mapping[str, Any], tool: str) -> None:
    """Validate against the meta-schema of the draft it names (default: 2020-12)."""
    if (fault := meta_fault(schema)) is None:
        return
    where = "" if fault.context is None else f"In context={_brief(str(fault.context))}, "
    raise _invalid(tool, f"{where}{_brief(fault.message)}.")


def compile_schema(schema: Mapping[str, Any], tool: str) -> jsonschema_rs.Validator:
    """Compile a checked schema. Raises `ToolSchemaError`."""
    try:
        return jsonschema_rs.validator_for(dict(schema), offline=True, pattern_options=_PATTERNS)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise _invalid(tool, f"{_brief(str(error).splitlines()[0])}.") from None


def _unsupported(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the valid patterns that a linear-time engine does not support."""
    suspects = {pattern for pattern in patterns_of(schema) if _SUSPECT.search(pattern)}
    return frozenset(
        pattern
        for pattern in suspects
        if not _can_compile(pattern, _PATTERNS) and _can_compile(pattern, _ANY_PATTERNS)
    )


def _can_compile(pattern: str, options: Any) -> bool:
    try:
        jsonschema_rs.validator_for({"pattern": pattern}, offline=True, pattern_options=options)
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


def schema_too_large(tool: str, most: int) -> ToolSchemaError:
    """The error for a schema above the size limit."""
    return _invalid(tool, f"it is larger than {most} bytes. Shorten it, or split the tool.")


def too_many_refs(tool: str, most: int) -> ToolSchemaError:
    """The error for a schema that would take too long to compile."""
    return _invalid(tool, f"it has more than {most} references ('$ref'). Write some of them out.")


def _invalid(tool: str, why: str) -> ToolSchemaError:
    return ToolSchemaError(f"Invalid schema for function '{tool}': {why}")


def _brief(text: str, most: int = 200) -> str:
    text = text.rstrip(".")
    return text if len(text) <= most else text[:most] + "..."
