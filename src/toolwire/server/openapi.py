"""The OpenAPI 3.1 document of every API that is served, made from their types and errors."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import msgspec

from toolwire import __version__
from toolwire.errors import GatewayError
from toolwire.surfaces.operations import Operation

Json = dict[str, Any]

_REFERENCE = "#/components/schemas/{name}"
_ABOUT = "Tool calling between any client and any model."


def openapi(operations: Iterable[Operation]) -> Json:
    """The document."""
    listed = list(operations)
    types = [kind for operation in listed for kind in _types(operation)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    named = dict(zip(map(_identity, types), schemas, strict=True))
    paths: dict[str, Json] = {}
    for operation in listed:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _shown(operation, named)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Toolwire", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _types(operation: Operation) -> list[Any]:
    given = [operation.body, operation.answer, operation.error, *operation.events.values()]
    return [kind for kind in given if kind is not None]


def _identity(kind: Any) -> int:
    return id(kind)


def _shown(operation: Operation, named: Mapping[int, Json]) -> Json:
    shown: Json = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": _operation_id(operation),
        "responses": {"200": _answer(operation, named), **_errors(operation, named)},
    }
    if operation.description:
        shown["description"] = operation.description
    if operation.parameters:
        shown["parameters"] = [
            {
                "name": parameter.name,
                "in": parameter.place,
                "required": parameter.place == "path",
                "description": parameter.description,
                "schema": msgspec.json.schema(parameter.type),
            }
            for parameter in operation.parameters
        ]
    if operation.body is not None:
        content: Json = {"schema": named[_identity(operation.body)]}
        if operation.example is not None:
            content["example"] = operation.example
        shown["requestBody"] = {"required": True, "content": {"application/json": content}}
    return shown


def _operation_id(operation: Operation) -> str:
    words = [word.strip("{}") for word in operation.path.split("/") if word]
    return "_".join([operation.method.lower(), *words])


def _answer(operation: Operation, named: Mapping[int, Json]) -> Json:
    content: Json = {}
    if operation.answer is not None:
        content["application/json"] = {"schema": named[_identity(operation.answer)]}
    if operation.events:
        content["text/event-stream"] = {"schema": _stream(operation.events, named)}
    if not content:
        content["text/plain"] = {"schema": {"type": "string"}}
    return {"description": "The answer", "content": content}


def _stream(events: Mapping[str, Any], named: Mapping[int, Json]) -> Json:
    """A stream is text; what its events are is said beside it."""
    kinds = {name or "message": named[_identity(kind)] for name, kind in events.items()}
    return {"type": "string", "description": "Server-sent events", "x-events": kinds}


def _errors(operation: Operation, named: Mapping[int, Json]) -> Json:
    """The errors by their status, each with its code and what it means."""
    kinds = sorted(dict.fromkeys(operation.errors), key=lambda kind: kind.status)
    return {
        str(status): {
            "description": "\n".join(map(_meaning, of_status)),
            "content": {"application/json": {"schema": named[_identity(operation.error)]}},
        }
        for status, of_status in groupby(kinds, key=lambda kind: kind.status)
    }


def _meaning(kind: type[GatewayError]) -> str:
    said = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
    return f"`{kind.code}`: {said}" if kind.code else said
