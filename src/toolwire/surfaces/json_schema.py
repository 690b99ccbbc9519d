"""Checks the JSON Schema of a client's response format."""

from typing import Any

from toolwire.errors import RequestError
from toolwire.protocol.json_limits import is_deeper
from toolwire.protocol.schemas.check import SchemaLimits
from toolwire.protocol.schemas.meta import meta_fault
from toolwire.protocol.schemas.strict import strict_fault
from toolwire.surfaces.explain import json_kind, wrong_type

_DEEPEST = SchemaLimits().depth
_STRICT = {"properties": 5000, "depth": 10}
"""OpenAI's limits for the schema of an answer."""


def check_answer_schema(schema: Any, where: str, *, strict: bool = False) -> dict[str, Any]:
    """Return the schema if it is valid. Raises `RequestError` with the location.

    `strict`: it must also follow OpenAI's rules for strict schemas.
    """
    if not isinstance(schema, dict):
        raise wrong_type(where, "object", json_kind(schema))
    if why := answer_schema_fault(schema) or (_strict_fault(schema) if strict else ""):
        raise RequestError(
            f"Invalid schema for response_format: {why}", param=where, code="invalid_value"
        )
    return schema


def answer_schema_fault(schema: dict[str, Any]) -> str:
    """Return what is wrong with the schema of an answer; empty if it is valid."""
    if is_deeper(schema, _DEEPEST):
        return f"it is nested more than {_DEEPEST} levels deep."
    fault = meta_fault(schema)
    return fault.message[:200] if fault is not None else ""


def _strict_fault(schema: dict[str, Any]) -> str:
    if schema.get("type") != "object":
        return "schema must have type 'object' at the top level."
    return strict_fault(schema, **_STRICT) or ""
