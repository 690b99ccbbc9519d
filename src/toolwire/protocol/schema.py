"""Is this a legal tool schema, strict or not?

Schemas come from clients, so nothing here follows a remote `$ref`, recurses without bound or runs
a pattern that can explode: jsonschema-rs compiles offline, with a linear regex engine whose
backtracking extension is capped.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import jsonschema_rs

from toolwire.errors import ToolSchemaError

Context: TypeAlias = tuple[str, ...]

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
"""What a tool without `parameters` takes; sent upstream because templates index into it."""

_PATTERNS = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=10_000, size_limit=1 << 20, dfa_size_limit=1 << 20
)
_DRAFTS = frozenset(
    {"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema"}
    | {f"http://json-schema.org/draft-0{n}/schema" for n in (4, 6, 7)}
)
_NOT_IN_STRICT = (
    "allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else",
    "patternProperties",
)  # fmt: skip
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains",
           "propertyNames", "unevaluatedItems", "unevaluatedProperties")  # fmt: skip


@dataclass(frozen=True, slots=True)
class SchemaLimits:
    """How large a tool's schema may be."""

    depth: int = 128
    strict_properties: int = 100
    strict_depth: int = 5


@dataclass(frozen=True, slots=True)
class CheckedSchema:
    """A schema that can be used, its validator, and what had to be mended."""

    schema: Mapping[str, Any]
    validator: jsonschema_rs.Validator
    repairs: tuple[str, ...] = ()


def check_schema(
    schema: Mapping[str, Any], *, tool: str, strict: bool, limits: SchemaLimits
) -> CheckedSchema:
    """Check a tool's parameters and compile them, or raise `ToolSchemaError` naming the place."""
    schema = dict(schema) or dict(NO_ARGUMENTS)
    if (root := schema.get("type")) != "object":
        raise _invalid(
            tool, f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{root}\"'."
        )
    _check_depth(schema, tool, limits.depth)
    if str(schema.get("$schema", "")).rstrip("#") not in _DRAFTS:
        # An unknown dialect is read as 2020-12; jsonschema-rs would try to fetch it.
        schema.pop("$schema", None)
    _check_meta(schema, tool)
    if strict:
        _check_strict(schema, tool, limits)
        return CheckedSchema(schema, _compile(schema, tool))
    dangling = sorted({str(ref) for ref in _dangling_refs(schema)})
    if dangling:
        schema = _without_refs(schema, frozenset(dangling))
    repairs = tuple(f"dangling_ref:{tool}:{_brief(ref)}" for ref in dangling)
    return CheckedSchema(schema, _compile(schema, tool), repairs)


def _check_meta(schema: Mapping[str, Any], tool: str) -> None:
    """Is it a schema at all, by the draft it names (2020-12 if it names none)?"""
    try:
        jsonschema_rs.meta.validate(dict(schema))
    except jsonschema_rs.ValidationError as error:
        context = tuple(str(step) for step in error.instance_path)
        raise _invalid(tool, f"In context={context}, {_brief(error.message)}.") from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise _invalid(tool, f"{_brief(str(error).splitlines()[0])}.") from None


def _compile(schema: Mapping[str, Any], tool: str) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(dict(schema), offline=True, pattern_options=_PATTERNS)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise _invalid(tool, f"{_brief(str(error).splitlines()[0])}.") from None


def _invalid(tool: str, why: str) -> ToolSchemaError:
    return ToolSchemaError(f"Invalid schema for function '{tool}': {why}")


def _brief(text: str, most: int = 200) -> str:
    text = text.rstrip(".")
    return text if len(text) <= most else text[:most] + "..."


def _check_depth(schema: Any, tool: str, most: int) -> None:
    """Nesting of any kind, schema or not: everything after this may recurse."""
    level = [schema]
    for _ in range(most):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        if not below:
            return
        level = below
    raise _invalid(tool, f"it is nested more than {most} levels deep.")


def _subschemas(schema: Mapping[str, Any], context: Context) -> Iterator[tuple[Any, Context]]:
    for key in _MAPS:
        if isinstance(group := schema.get(key), dict):
            for name, sub in group.items():
                yield sub, (*context, key, name)
    for key in _LISTS:
        if isinstance(group := schema.get(key), list):
            for position, sub in enumerate(group):
                yield sub, (*context, key, str(position))
    for key in _SINGLE:
        if isinstance(sub := schema.get(key), dict):
            yield sub, (*context, key)


def _walk(schema: Any, context: Context = ()) -> Iterator[tuple[Mapping[str, Any], Context]]:
    pending = [(schema, context)]
    while pending:
        sub, where = pending.pop()
        if isinstance(sub, dict):
            yield sub, where
            pending.extend(_subschemas(sub, where))


def _check_strict(schema: Mapping[str, Any], tool: str, limits: SchemaLimits) -> None:
    properties = 0
    if "anyOf" in schema:
        raise _invalid(
            tool, "schema must have type 'object' and not have 'anyOf' at the top level."
        )
    for sub, context in _walk(schema):
        _check_strict_part(sub, context, tool)
        properties += len(sub.get("properties") or ())
        if context.count("properties") + context.count("items") > limits.strict_depth:
            raise _invalid(
                tool, f"In context={context}, nesting exceeds {limits.strict_depth} levels."
            )
    if properties > limits.strict_properties:
        raise _invalid(
            tool, f"{properties} properties in all, more than {limits.strict_properties} allowed."
        )
    if (dangling := next(_dangling_refs(schema), None)) is not None:
        raise _invalid(tool, f"'$ref' {_brief(str(dangling))!r} leads nowhere.")


def _check_strict_part(sub: Mapping[str, Any], context: Context, tool: str) -> None:
    for keyword in _NOT_IN_STRICT:
        if keyword in sub:
            raise _invalid(tool, f"In context={context}, '{keyword}' is not permitted.")
    kinds = sub.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "object" not in kinds and "properties" not in sub:
        return
    if sub.get("additionalProperties") is not False:
        raise _invalid(
            tool,
            f"In context={context}, 'additionalProperties' is required to be supplied "
            "and to be false.",
        )
    required = sub.get("required") or []
    for name in sub.get("properties") or {}:
        if name not in required:
            raise _invalid(
                tool,
                f"In context={context}, 'required' is required to be supplied and to be an array "
                f"including every key in properties. Missing '{name}'.",
            )


def _dangling_refs(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Every `$ref` that does not lead to a place inside this schema."""
    anchors = {"#" + str(sub[key]) for sub, _ in _walk(schema) for key in ("$anchor", "$dynamicAnchor") if key in sub}  # fmt: skip  # noqa: E501
    for sub, _ in _walk(schema):
        ref = sub.get("$ref")
        if ref is not None and ref not in anchors and not _resolves(schema, ref):
            yield ref


def _resolves(schema: Mapping[str, Any], ref: Any) -> bool:
    if ref == "#":
        return True
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return False
    here: Any = schema
    for step in ref[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and key in here:
            here = here[key]
        elif isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        else:
            return False
    return True


def _without_refs(value: Any, gone: frozenset[str]) -> Any:
    """The same JSON with every `$ref` in `gone` taken out, so that it means "anything"."""
    if isinstance(value, dict):
        return {
            key: _without_refs(sub, gone)
            for key, sub in value.items()
            if not (key == "$ref" and str(sub) in gone)
        }
    if isinstance(value, list):
        return [_without_refs(sub, gone) for sub in value]
    return value
