"""Is this a legal tool schema, strict or not?

Schemas come from clients, so nothing here follows a remote `$ref`, recurses without bound, or
compiles a pattern that was not weighed: jsonschema-rs works offline, with a linear regex engine
whose backtracking extension is capped.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from toolwire.errors import ToolSchemaError
from toolwire.protocol.nesting import is_deeper
from toolwire.protocol.schema_mend import (
    dangling_refs,
    weigh_patterns,
    without_patterns,
    without_refs,
)
from toolwire.protocol.schema_strict import strict_fault

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
"""What a tool without `parameters` takes; sent upstream because templates index into it."""

PATTERN_BUDGET = 20_000
"""What compiling the patterns of one request may cost: some 5 MB and a tenth of a second."""

_PATTERNS = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=10_000, size_limit=4 << 20, dfa_size_limit=1 << 20
)
_DRAFTS = frozenset(
    {"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema"}
    | {f"http://json-schema.org/draft-0{n}/schema" for n in (4, 6, 7)}
)


@dataclass(frozen=True, slots=True)
class SchemaLimits:
    """How large a tool's schema may be."""

    depth: int = 128
    strict_properties: int = 100
    strict_depth: int = 5
    size: int = 512 << 10
    """In bytes of JSON."""


@dataclass(frozen=True, slots=True)
class CheckedSchema:
    """A schema that can be used, its validator, and what had to be mended."""

    schema: Mapping[str, Any]
    validator: jsonschema_rs.Validator
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
    """Check a tool's parameters and compile them, or raise `ToolSchemaError` naming the place."""
    if is_deeper(schema, limits.depth):
        raise _invalid(tool, f"it is nested more than {limits.depth} levels deep.")
    schema = dict(schema) or dict(NO_ARGUMENTS)
    if (root := schema.get("type")) != "object":
        raise _invalid(
            tool,
            "schema must be a JSON Schema of 'type: \"object\"', "
            f"got 'type: \"{_brief(str(root))}\"'.",
        )
    if str(schema.get("$schema", "")).rstrip("#") not in _DRAFTS:
        # An unknown dialect is read as 2020-12; jsonschema-rs would try to fetch it.
        schema.pop("$schema", None)
    costly, cost = weigh_patterns(schema, pattern_budget)
    if strict:
        _check_strict(schema, tool, limits, costly)
        return CheckedSchema(schema, _compile(schema, tool), pattern_cost=cost)
    if costly:
        schema = without_patterns(schema, costly)
    _check_meta(schema, tool)
    if dangling := dangling_refs(schema):
        schema = without_refs(schema, dangling)
    repairs = (*_said("costly_pattern", tool, costly), *_said("dangling_ref", tool, dangling))
    return CheckedSchema(schema, _compile(schema, tool), repairs, cost)


def _check_strict(
    schema: Mapping[str, Any], tool: str, limits: SchemaLimits, costly: Collection[str]
) -> None:
    """A strict tool's calls always fit its schema, so nothing may be left out of it."""
    for pattern in costly:
        raise _invalid(tool, f"the 'pattern' {_brief(pattern)!r} is too costly to check.")
    _check_meta(schema, tool)
    fault = strict_fault(schema, properties=limits.strict_properties, depth=limits.strict_depth)
    if fault is not None:
        raise _invalid(tool, fault)
    for ref in sorted(dangling_refs(schema)):
        raise _invalid(tool, f"'$ref' {_brief(ref)!r} leads nowhere.")


def _said(what: str, tool: str, gone: Collection[str]) -> list[str]:
    return [f"{what}:{tool}:{_brief(text)}" for text in sorted(gone)]


def _check_meta(schema: Mapping[str, Any], tool: str) -> None:
    """Is it a schema at all, by the draft it names (2020-12 if it names none)?"""
    try:
        jsonschema_rs.meta.validate(dict(schema))
    except jsonschema_rs.ValidationError as error:
        context = tuple(str(step) for step in error.instance_path)
        raise _invalid(
            tool, f"In context={_brief(str(context))}, {_brief(error.message)}."
        ) from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise _invalid(tool, f"{_brief(str(error).splitlines()[0])}.") from None


def _compile(schema: Mapping[str, Any], tool: str) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(dict(schema), offline=True, pattern_options=_PATTERNS)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise _invalid(tool, f"{_brief(str(error).splitlines()[0])}.") from None


def schema_too_large(tool: str, most: int) -> ToolSchemaError:
    """A schema that is not even looked at."""
    return _invalid(tool, f"it is larger than {most} bytes. Shorten it, or split the tool.")


def too_many_refs(tool: str, most: int) -> ToolSchemaError:
    """A schema that would take too long to compile."""
    return _invalid(tool, f"it has more than {most} references ('$ref'). Write some of them out.")


def _invalid(tool: str, why: str) -> ToolSchemaError:
    return ToolSchemaError(f"Invalid schema for function '{tool}': {why}")


def _brief(text: str, most: int = 200) -> str:
    text = text.rstrip(".")
    return text if len(text) <= most else text[:most] + "..."
