"""Generates the OpenAPI 3.1 document of all served APIs from their types and errors."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import msgspec

from toolwire import __version__
from toolwire.errors import GatewayError
from toolwire.surfaces.operations import Api, Operation

Json = dict[str, Any]

_ABOUT = "Tool calling between any client and any model."


def openapi(apis: Iterable[Api]) -> Json:
    """Return the document."""
    paths: dict[str, Json] = {}
    schemas: Json = {}
    for api in apis:
        types = [kind for operation in api.operations for kind in _types(operation)]
        references, components = msgspec.json.schema_components(
            types, ref_template=f"#/components/schemas/{api.prefix}{{name}}"
        )
        schemas |= {f"{api.prefix}{name}": schema for name, schema in components.items()}
        named = dict(zip(map(id, types), references, strict=True))
        for operation in api.operations:
            methods = paths.setdefault(operation.path, {})
            methods[operation.method.lower()] = _shown(api, operation, named)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Toolwire", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _types(operation: Operation) -> list[Any]:
    given = [operation.body, operation.answer, operation.error, *operation.events.values()]
    return [kind for kind in given if kind is not None]


def _shown(api: Api, operation: Operation, named: Mapping[int, Json]) -> Json:
    shown: Json = {
        "tags": [api.name],
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
        content: Json = {"schema": named[id(operation.body)]}
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
        content["application/json"] = {"schema": named[id(operation.answer)]}
    if operation.events:
        content["text/event-stream"] = {"schema": _stream(operation.events, named)}
    if not content:
        content["text/plain"] = {"schema": {"type": "string"}}
    return {"description": "The answer", "content": content}


def _stream(events: Mapping[str, Any], named: Mapping[int, Json]) -> Json:
    """Describe a stream as text, with its events as an extension."""
    kinds = {name or "message": named[id(kind)] for name, kind in events.items()}
    return {"type": "string", "description": "Server-sent events", "x-events": kinds}


def _errors(operation: Operation, named: Mapping[int, Json]) -> Json:
    """Return the errors by status, each with its code and meaning."""

    def status_of(kind: type[GatewayError]) -> int:
        return operation.statuses.get(kind, kind.status)

    kinds = sorted(dict.fromkeys(operation.errors), key=status_of)
    return {
        str(status): {
            "description": "\n".join(map(_meaning, of_status)),
            "content": {"application/json": {"schema": named[id(operation.error)]}},
        }
        for status, of_status in groupby(kinds, key=status_of)
    }


def _meaning(kind: type[GatewayError]) -> str:
    said = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
    return f"`{kind.code}`: {said}" if kind.code else said
