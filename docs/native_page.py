"""The reference of the native API, from its OpenAPI document."""

from collections.abc import Callable, Iterable
from typing import Any

from toolwire.server.apis.openapi import openapi
from toolwire.surfaces.native.operations import API

Table = Callable[[Iterable[str], Iterable[Iterable[str]]], str]


def parts(table: Table) -> Iterable[str]:
    """The parts of the page."""
    document = openapi([API])
    yield "# Native API reference"
    yield (
        "Made from the types that are read and written: the same as in `/openapi.json`, and on "
        "`/docs` of a running Toolwire. [The native API](native-api.md) explains it."
    )
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from _operation(method.upper(), path, operation, table)
    yield "## Types"
    for name, schema in document["components"]["schemas"].items():
        yield from _type(name.removeprefix(API.prefix), schema, table)


def _operation(method: str, path: str, operation: dict[str, Any], table: Table) -> Iterable[str]:
    yield f"## {operation['summary']}"
    yield f"`{method} {path}`"
    if "description" in operation:
        yield operation["description"]
    if "parameters" in operation:
        rows = [(f"`{p['name']}`", p["in"], p["description"]) for p in operation["parameters"]]
        yield table(("parameter", "in", "what it is"), rows)
    if "requestBody" in operation:
        yield f"Request: {_kind(operation['requestBody']['content']['application/json']['schema'])}"
    content = operation["responses"]["200"]["content"]
    yield f"Answer: {_kind(content['application/json']['schema'])}"
    if "text/event-stream" in content:
        events = content["text/event-stream"]["schema"]["x-events"]
        rows = [(f"`{name}`", _kind(schema)) for name, schema in events.items()]
        yield table(("event of a stream", "data"), rows)
    errors = [(status, said) for status, said in operation["responses"].items() if status != "200"]
    yield table(
        ("error", "when"),
        [(status, said["description"].replace("\n", "<br>")) for status, said in errors],
    )


def _type(name: str, schema: dict[str, Any], table: Table) -> Iterable[str]:
    yield f"### {name}"
    if "description" in schema:
        yield schema["description"]
    needed = set(schema.get("required", ()))
    rows = [
        (f"`{field}`", _kind(kind), "yes" if field in needed else "", kind.get("description", ""))
        for field, kind in schema.get("properties", {}).items()
    ]
    if rows:
        yield table(("field", "type", "required", "what it is"), rows)


def _kind(schema: dict[str, Any]) -> str:
    """A type in a few words, with links to those that are described."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2].removeprefix(API.prefix)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_kind, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any JSON"))
