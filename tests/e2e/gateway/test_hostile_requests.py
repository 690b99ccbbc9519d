"""Requests that are made to break, run or reach something, over HTTP (R4, R5, R10)."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.contract.malformed.requests import requests
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.test_auth import Trap
from tests.e2e.gateway.wire import ask, chat_body
from tests.hard.figures import note
from tests.scripted import ScriptedServer

FORMULA = "{{7*7}}{% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %}${7*7}"
EVERY = size(8, 1)
"""Of so many malformed requests one is sent."""


@pytest.mark.timeout(size(120, 600))
def test_no_malformed_request_is_more_than_a_400(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])
    bad = requests()[::EVERY]
    before, pid = gateway.cpu, gateway.process.pid

    def send(raw: bytes) -> int:
        return ask(gateway.port, raw).status

    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(send, [case.raw for case in bad]))
    assert set(statuses) == {400}
    assert backend.requests == []
    assert (gateway.process.poll(), gateway.process.pid) == (None, pid)
    note(
        f"{len(bad)} requests, all 400, {(gateway.cpu - before) / len(bad) * 1000:.1f} ms of CPU "
        f"each ({time.monotonic() - began:.0f} s in all)"
    )


def hostile_body(**more: Any) -> dict[str, Any]:
    """A request with a formula in every text."""
    call = {"name": "f", "arguments": json.dumps({"a": FORMULA})}
    properties = {"a": {"type": "string", "description": FORMULA, "enum": [FORMULA, "b"]}}
    function = {
        "name": "f",
        "description": FORMULA,
        "parameters": {"type": "object", "properties": properties},
    }
    messages = [
        {"role": "system", "content": FORMULA},
        {"role": "user", "content": FORMULA, "name": "n"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c", "content": FORMULA},
        {"role": "user", "content": [{"type": "text", "text": FORMULA}]},
    ]
    tools = [{"type": "function", "function": function}]
    return chat_body(messages=messages, tools=tools, **more)


def test_a_formula_in_a_text_is_text(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", [{"text": FORMULA}])
    sent = hostile_body()
    reply = ask(gateway.port, sent)
    assert reply.json["choices"][0]["message"]["content"] == FORMULA
    got = backend.requests[0].json
    assert got["tools"] == sent["tools"]
    assert json.dumps(got["messages"]).count(json.dumps(FORMULA)[1:-1]) == 5
    assert [m["content"] for m in got["messages"] if m["role"] in ("system", "tool")] == [
        FORMULA
    ] * 2
    assert "49" not in json.dumps(got)


def test_a_template_of_a_client_is_never_used_nor_forwarded(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", ["hi"])
    fields = {"chat_template": FORMULA, "template": FORMULA, "prompt_template": FORMULA}
    reply = ask(gateway.port, hostile_body(**fields))
    assert reply.status == 200
    assert set(fields).isdisjoint(backend.requests[0].json)
    assert "chat_template" in reply.headers["toolwire-ignored-params"]


ADDRESSES = ("{url}", "{url}\\@x", "http://x@{host}", "http://2130706433:{port}", "//{host}")
FIELDS = (
    "api_base",
    "base_url",
    "custom_host",
    "api_version",
    "endpoint",
    "proxy",
    "upstream",
    "url",
)
HEADERS = (
    "x-forwarded-host",
    "x-upstream-host",
    "x-original-url",
    "x-litellm-api-base",
    "forwarded",
)


@pytest.mark.parametrize("address", [*ADDRESSES, "http://169.254.169.254/latest/meta-data"])
def test_no_form_of_an_address_leads_anywhere(
    gateway: Gateway, backend: ScriptedServer, address: str
) -> None:
    backend.use("std", ["hi"])
    with Trap() as trap:
        host = trap.url.removeprefix("http://")
        there = address.format(url=trap.url, host=host, port=host.partition(":")[2])
        fields = {**dict.fromkeys(FIELDS, there), "extra_headers": {"host": there}}
        fields["metadata"] = {"url": there}
        schema = {"type": "object", "properties": {"a": {"$ref": f"{there}/schema.json"}}}
        fields["tools"] = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
        headers = dict.fromkeys(HEADERS, there)
        for path in ("/v1/chat/completions", "/v1/embeddings"):
            ask(gateway.port, chat_body(**fields), path=path, headers=headers)
        assert not trap.sprung
    assert {request.headers["host"] for request in backend.requests} <= {
        backend.url.removeprefix("http://").removesuffix("/v1")
    }


def with_schemas(tool: Any, answer: Any) -> dict[str, dict[str, Any]]:
    """A request with these schemas for each API, by its path."""
    asked = chat_body()
    form = {"type": "json_schema", "name": "x", "schema": answer}
    return {
        "/v1/chat/completions": {
            **asked,
            "tools": [{"type": "function", "function": {"name": "f", "parameters": tool}}],
            "response_format": {"type": "json_schema", "json_schema": form},
        },
        "/v1/responses": {
            "model": "m",
            "input": "Hello",
            "tools": [{"type": "function", "name": "f", "parameters": tool}],
            "text": {"format": form},
        },
        "/v1/messages": {
            **asked,
            "max_tokens": 9,
            "tools": [{"name": "f", "input_schema": tool}],
            "output_config": {"format": form},
        },
        "/native/v1/chat": {**asked, "tools": [{"name": "f", "parameters": tool}]},
    }


@pytest.mark.parametrize("path", with_schemas({}, {}))
def test_no_schema_is_fetched_for_a_schema(
    gateway: Gateway, backend: ScriptedServer, path: str
) -> None:
    backend.use("std", ["hi"])
    with Trap() as trap:
        plain = {"type": "object", "properties": {}}
        for keyword in ("$schema", "$id", "$ref", "$dynamicRef"):
            far = {**plain, keyword: f"{trap.url}/x"}
            for tool, answer in ((far, plain), (plain, far)):
                body = with_schemas(tool, answer)[path]
                assert ask(gateway.port, body, path=path, timeout=10).status in (200, 400)
        assert not trap.sprung


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_an_answer_s_schema_has_the_depth_of_a_tool_s(gateway: Gateway, path: str) -> None:
    plain: dict[str, Any] = {"type": "object", "properties": {}}
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"not": deep}
    reply = ask(gateway.port, with_schemas(plain, {**plain, **deep})[path], path=path)
    assert (reply.status, b"nested more than 128 levels" in reply.body) == (400, True)
