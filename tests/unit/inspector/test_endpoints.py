"""The inspector's JSON, through the whole application but its sockets."""

import asyncio
import io
import json
from typing import Any

import pytest
from tests.contract.chatting import Client

from toolwire.gateway.trace.records import TurnTrace
from toolwire.server.access.auth import hash_key
from toolwire.server.app import App
from toolwire.server.config.settings import BackendConfig, ClientKey, Config, Listen, RouteConfig
from toolwire.server.telemetry.logs import Logs
from toolwire.server.telemetry.redact import Redactor
from toolwire.surfaces.exchange import HttpRequest

ROUTE = RouteConfig("m", (BackendConfig(name="local", url="http://127.0.0.1:9/v1"),))
CALL = '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'


def app(**settings: Any) -> App:
    logs = Logs(level=50, as_json=False, redactor=Redactor(), stream=io.StringIO())
    return App(Config(models=(ROUTE,), **settings), logs, clock=lambda: 0.0)


def ask(app: App, path: str, body: Any = None, key: str = "") -> Client:
    """One request, as the page makes it."""
    headers = {b"host": b"127.0.0.1:8181", b"sec-fetch-site": b"same-origin"}
    if key:
        headers[b"authorization"] = f"Bearer {key}".encode()
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    client = Client(HttpRequest(method, path.encode(), headers, data))
    asyncio.run(app(client))  # type: ignore[arg-type]
    return client


def test_the_page_is_sent_with_a_policy() -> None:
    client = ask(app(), "/inspector")
    assert client.status == 200
    assert client.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in client.headers["content-security-policy"]
    assert client.headers["x-content-type-options"] == "nosniff"


def test_a_slash_too_many_leads_to_the_page() -> None:
    client = ask(app(), "/inspector/")
    assert (client.status, client.headers["location"]) == (308, "../inspector")


@pytest.mark.parametrize("path", ["/inspector", "/inspector/app.js", "/inspector/api/info"])
@pytest.mark.parametrize(
    "settings",
    [{"inspector": False}, {"listen": Listen(host="0.0.0.0", public=True)}],
    ids=["off", "public"],
)
def test_it_is_not_there_if_it_is_off_or_everybody_could_see_it(
    path: str, settings: dict[str, Any]
) -> None:
    assert ask(app(**settings), path).status == 404


def test_what_the_page_needs_first() -> None:
    info = ask(app(), "/inspector/api/info").json
    assert (info["bodies"], info["lasting"], info["key"]) == (False, False, None)
    assert "hermes" in [one["name"] for one in info["formats"]]


def test_a_text_is_read() -> None:
    read = ask(app(), "/inspector/api/parse", {"text": CALL, "format": "auto"}).json
    assert read["format"] == "hermes"
    assert read["calls"][0]["arguments"] == '{"x": 1}'


def test_tools_are_taken_in_every_shape() -> None:
    function = {"name": "f", "parameters": {"type": "object"}}
    for tools in ([function], [{"type": "function", "function": function}], {"tools": [function]}):
        client = ask(app(), "/inspector/api/parse", {"text": CALL, "tools": tools})
        assert client.status == 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"text": "x", "format": "nonsense"}, "no format is called"),
        ({"text": "x", "tools": 7}, "not a list of tools"),
        ({"text": "x", "tools": [{}]}, "tool 0 has no name"),
        ({"text": 7}, "Expected `str`"),
        ({"text": "x" * 100_001}, "100000"),
        ({"text": "x", "chunk_size": 0}, ">= 1"),
        ({"text": "x", "surprise": 1}, "surprise"),
        (b"{", "cannot be used"),
        (b'{"text": "\xff"}', "cannot be used"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(body: Any, words: str) -> None:
    client = ask(app(), "/inspector/api/parse", body)
    assert client.status == 400
    assert words in client.json["error"]["message"]


def test_texts_of_a_format_can_be_picked() -> None:
    samples = ask(app(), "/inspector/api/samples?format=hermes").json["samples"]
    (one,) = [sample for sample in samples if sample["name"] == "one_call"]
    assert one["calls"] == 1
    assert one["tools"][0]["name"] == "get_weather"
    assert ask(app(), "/inspector/api/samples?format=nonsense").status == 400


def test_a_case_is_made_of_a_text() -> None:
    made = ask(app(), "/inspector/api/case", {"text": CALL, "name": "A call"}).json
    assert made["format"] == "hermes"
    assert made["cases"][0]["name"] == "a_call"


def keep(server: App, request_id: str, key: str = "") -> None:
    assert server.services.traces is not None
    server.services.traces.keep(TurnTrace(request_id, b'{"model": "m"}', 1.0, key=key))


def test_requests_are_traced_once_somebody_has_looked() -> None:
    server = app()
    assert server.services.traces is not None
    assert not server.services.traces.tracing.on
    assert ask(server, "/inspector/api/turns").json == {"turns": []}
    assert server.services.traces.tracing.on


def test_a_request_is_listed_and_shown() -> None:
    server = app()
    keep(server, "req_1")
    asyncio.run(server.aclose())
    assert [turn["id"] for turn in ask(server, "/inspector/api/turns").json["turns"]] == ["req_1"]
    shown = ask(server, "/inspector/api/turn?id=req_1").json
    assert (shown["request"]["body"], shown["request"]["bytes"]) == (None, 14)
    assert ask(server, "/inspector/api/turn?id=req_2").status == 404


def test_without_bodies_there_is_nothing_to_replay() -> None:
    server = app()
    keep(server, "req_1")
    asyncio.run(server.aclose())
    client = ask(server, "/inspector/api/replay", {"id": "req_1"})
    assert client.status == 400
    assert client.json["error"]["code"] == "cannot_replay"
    assert "without bodies" in client.json["error"]["message"]


def test_a_key_is_needed_where_there_are_keys_and_shows_its_own_requests() -> None:
    keys = (
        ClientKey("laptop", hash_key("tw-laptop")),
        ClientKey("operator", hash_key("tw-operator"), inspects=True),
    )
    server = app(keys=keys)
    keep(server, "req_1", key="laptop")
    keep(server, "req_2", key="phone")
    asyncio.run(server.aclose())
    path = "/inspector/api/turns"
    assert ask(server, path).status == 401
    assert ask(server, "/inspector").status == 200
    assert [turn["id"] for turn in ask(server, path, key="tw-laptop").json["turns"]] == ["req_1"]
    assert len(ask(server, path, key="tw-operator").json["turns"]) == 2
    assert ask(server, "/inspector/api/turn?id=req_2", key="tw-laptop").status == 404
    assert ask(server, "/inspector/api/replay", {"id": "req_2"}, key="tw-laptop").status == 404


def test_a_page_of_another_site_cannot_ask() -> None:
    headers = {b"host": b"127.0.0.1:8181", b"origin": b"https://evil.example"}
    client = Client(HttpRequest("GET", b"/inspector/api/turns", headers))
    asyncio.run(app()(client))  # type: ignore[arg-type]
    assert client.status == 403


@pytest.mark.parametrize("mode", ["native", "hybrid", "prompted", "auto"])
def test_a_trial_is_a_turn_with_its_own_mode(mode: str) -> None:
    client = ask(app(), f"/inspector/api/try/{mode}", {"model": "none", "messages": []})
    assert client.status in (400, 404)
    assert client.json["error"]["type"] == "invalid_request_error"


def test_so_many_tools_and_no_more_can_be_tried() -> None:
    tools = [{"name": f"f{number}"} for number in range(513)]
    client = ask(app(), "/inspector/api/parse", {"text": "x", "tools": tools})
    assert client.status == 400
    assert "At most 512" in client.json["error"]["message"]


@pytest.mark.parametrize("path", ["parse", "case", "replay"])
def test_a_body_of_very_many_values_is_not_decoded(path: str) -> None:
    body = b'{"text": "x", "tools": [' + b"[]," * 200_000 + b"[]]}"
    client = ask(app(), f"/inspector/api/{path}", body)
    assert (client.status, client.json["error"]["code"]) == (400, "too_many_values")
