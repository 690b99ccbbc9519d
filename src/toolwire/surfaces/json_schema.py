"""Checks the JSON Schema of a client's response format."""

from typing import Any

import jsonschema_rs

from toolwire.errors import RequestError
from toolwire.surfaces.explain import json_kind, wrong_type


def check_answer_schema(schema: Any, where: str) -> dict[str, Any]:
    """Return the schema if it is valid. Raises `RequestError` with the location."""
    if not isinstance(schema, dict):
        raise wrong_type(where, "object", json_kind(schema))
    try:
        jsonschema_rs.meta.validate(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise RequestError(
            f"Invalid schema for response_format: {str(error).splitlines()[0][:200]}",
            param=where,
            code="invalid_value",
        ) from None
    return schema
