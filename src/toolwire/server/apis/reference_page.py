"""Renders the OpenAPI document as plain HTML, without scripts or external resources."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Json = Mapping[str, Any]

_MOST_NESTED = 6
"""Levels of nested types that are shown inline."""

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: #3b7ddd; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: flex; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem; min-width: 19rem;
  border-right: 1px solid var(--line); font-size: .9rem; }
nav h2 { font-size: .8rem; letter-spacing: .05em; margin: 1.2rem 0 .3rem; }
nav a { display: block; padding: .15rem 0; color: inherit; text-decoration: none; }
nav a:hover, nav a:focus { color: var(--accent); }
main { padding: 1.5rem 2.5rem 6rem; max-width: 60rem; min-width: 0; flex: 1; }
section { border-top: 1px solid var(--line); padding: 1.2rem 0; }
h1 { margin: 0 0 .2rem; } h3 { margin: 0 0 .4rem; } h4 { margin: 1.2rem 0 .3rem; }
code, pre { font: .88em/1.5 ui-monospace, monospace; }
code { background: var(--soft); padding: .1em .3em; border-radius: 4px; }
pre { background: var(--soft); padding: .8rem 1rem; border-radius: 8px; overflow: auto; }
.method { color: #fff; background: var(--accent); border-radius: 4px; padding: .1em .5em;
  font: 600 .8rem ui-monospace, monospace; margin-right: .5em; }
.DELETE { background: #c0392b; } .GET { background: #2e8b57; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
td, th { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid var(--line); }
td:first-child { white-space: nowrap; }
.needed { color: #c0392b; font-size: .8rem; }
details { margin: .2rem 0 .2rem 1rem; } summary { cursor: pointer; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; } }
"""
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'; base-uri 'none'"
)
"""The page's Content-Security-Policy: its own style sheet, and nothing else."""


def reference_page(document: Json) -> str:
    """Return the page of an OpenAPI document."""
    return _Page(document).html()


class _Page:
    def __init__(self, document: Json) -> None:
        self._info = document["info"]
        self._types: Json = document["components"]["schemas"]
        self._operations = [
            (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]

    def html(self) -> str:
        title, version = escape(self._info["title"]), escape(self._info["version"])
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{title}: API reference</title>"
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{_STYLE}</style></head><body>"
            f'<nav aria-label="Operations"><strong>{title}</strong> {version}{self._index()}</nav>'
            f"<main><h1>API reference</h1><p>{_text(self._info['description'])} The same as "
            'JSON: <a href="openapi.json">openapi.json</a>.</p>'
            f"{''.join(map(self._section, self._operations))}</main></body></html>"
        )

    def _index(self) -> str:
        tags = dict.fromkeys(operation["tags"][0] for _, _, operation in self._operations)
        return "".join(f"<h2>{escape(tag)}</h2>{''.join(self._links(tag))}" for tag in tags)

    def _links(self, tag: str) -> Iterator[str]:
        for _, _, operation in self._operations:
            if operation["tags"][0] == tag:
                anchor, summary = operation["operationId"], escape(operation["summary"])
                yield f'<a href="#{escape(anchor)}">{summary}</a>'

    def _section(self, described: tuple[str, str, Json]) -> str:
        method, path, operation = described
        parts = [
            f'<section id="{escape(operation["operationId"])}">',
            f"<h3>{escape(operation['summary'])}</h3>",
            f'<p><span class="method {method}">{method}</span><code>{escape(path)}</code></p>',
            f"<p>{_text(operation.get('description', ''))}</p>",
            self._parameters(operation.get("parameters", ())),
            self._body(operation),
            self._answers(operation["responses"]),
            _errors(operation["responses"]),
            "</section>",
        ]
        return "".join(parts)

    def _parameters(self, parameters: Any) -> str:
        rows = "".join(
            f"<tr><td><code>{escape(p['name'])}</code></td><td>{escape(p['in'])}</td>"
            f"<td>{_text(p['description'])}</td></tr>"
            for p in parameters
        )
        return f"<h4>Parameters</h4><table>{rows}</table>" if rows else ""

    def _body(self, operation: Json) -> str:
        if "requestBody" not in operation:
            return ""
        content = operation["requestBody"]["content"]["application/json"]
        example = content.get("example")
        shown = f"<pre>{escape(json.dumps(example, indent=2))}</pre>" if example else ""
        return f"<h4>Request</h4>{shown}{self._fields(content['schema'], 0)}"

    def _answers(self, responses: Json) -> str:
        content = responses["200"].get("content", {})
        said = ""
        if "application/json" in content:
            said += f"<h4>Answer</h4>{self._fields(content['application/json']['schema'], 0)}"
        events = content.get("text/event-stream", {}).get("schema", {}).get("x-events", {})
        if events:
            said += "<h4>Events of a stream</h4>"
        for name, schema in events.items():
            said += f"<details><summary><code>{escape(name)}</code></summary>"
            said += f"{self._fields(schema, 1)}</details>"
        return said

    def _fields(self, schema: Json, depth: int) -> str:
        """Return a table of an object's fields, with the types that they refer to."""
        shown = self._resolved(schema)
        about = f"<p>{_text(shown['description'])}</p>" if shown.get("description") else ""
        needed = set(shown.get("required", ()))
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code>{_mark(name in needed)}</td>"
            f"<td>{self._kind(field, depth)}</td></tr>"
            for name, field in shown.get("properties", {}).items()
        )
        return about + (f"<table>{rows}</table>" if rows else "")

    def _kind(self, schema: Json, depth: int) -> str:
        about = f" {_text(schema['description'])}" if "description" in schema else ""
        below = "".join(self._nested(name, depth) for name in _references(schema))
        return f"{escape(_kind_of(schema))}{about}{below}"

    def _nested(self, name: str, depth: int) -> str:
        if depth >= _MOST_NESTED:
            return ""
        fields = self._fields(self._types[name], depth + 1)
        return f"<details><summary>{escape(name)}</summary>{fields}</details>"

    def _resolved(self, schema: Json) -> Json:
        names = _references(schema) if "$ref" in schema else []
        return self._types[names[0]] if names else schema


def _references(schema: Json) -> list[str]:
    """Return the named types in a schema, except within inline objects."""
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    inner = [*schema.get("anyOf", ()), *([schema["items"]] if schema.get("items") else ())]
    return list(dict.fromkeys(name for part in inner for name in _references(part)))


def _kind_of(schema: Json) -> str:
    """Return a short name of a type."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(_kind_of, schema["anyOf"])))
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_kind_of(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _errors(responses: Json) -> str:
    rows = "".join(
        f"<tr><td>{status}</td><td>{_text(said['description'])}</td></tr>"
        for status, said in responses.items()
        if status != "200"
    )
    return f"<h4>Errors</h4><table>{rows}</table>" if rows else ""


def _mark(needed: bool) -> str:  # noqa: FBT001
    return ' <span class="needed">required</span>' if needed else ""


def _text(text: str) -> str:
    """Return a description as HTML, with code and line breaks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")
