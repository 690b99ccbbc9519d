"""What there is besides chat completions, and what the headers of an answer say."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import TOOLS, tool
from tests.e2e.gateway.wire import Reply, ask, chat_body, connected, read_to_end, request_bytes
from tests.scripted import ScriptedServer

NAMED = """
[[models]]
name = "fast/one"
backend = {{ url = "{url}", name = "near", model = "scripted" }}

[[models]]
name = "slow"
backend = {{ url = "{url}", name = "far", dialect = "generic" }}
"""


@pytest.fixture(scope="module")
def named(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that serves two models by name, and no others."""
    with running(config=NAMED.format(url=backend.url)) as process:
        yield process


@pytest.fixture(autouse=True)
def _backend_says_hi(backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])


# Models.


def test_models_of_any_name_are_those_of_the_backend(gateway: Gateway) -> None:
    listed = ask(gateway.port, path="/v1/models").json
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["scripted", "scripted-mini"]
    for model in listed["data"]:
        assert {"id", "object", "created", "owned_by"} <= set(model)
        assert model["object"] == "model"


def test_named_models_are_listed_without_asking_anybody(
    named: Gateway, backend: ScriptedServer
) -> None:
    listed = ask(named.port, path="/v1/models").json
    assert [model["id"] for model in listed["data"]] == ["fast/one", "slow"]
    assert backend.requests == []


@pytest.mark.parametrize("path", ["fast/one", "fast%2Fone", "slow"])
def test_one_model_is_shown(named: Gateway, path: str) -> None:
    reply = ask(named.port, path=f"/v1/models/{path}")
    assert reply.status == 200
    assert reply.json["object"] == "model"


def test_an_unknown_model_is_a_404(
    named: Gateway, gateway: Gateway, backend: ScriptedServer
) -> None:
    for reply in (
        ask(named.port, path="/v1/models/none"),
        ask(gateway.port, path="/v1/models/none"),
        ask(named.port, chat_body(model="none")),
        ask(named.port, {"model": "none", "input": "x"}, path="/v1/embeddings"),
    ):
        assert reply.status == 404
        assert reply.error["code"] == "model_not_found"
        assert "'none'" in reply.error["message"]
    assert [request.path for request in backend.requests] == ["/v1/models"]


def test_a_model_is_sent_under_the_backends_own_name(
    named: Gateway, backend: ScriptedServer
) -> None:
    answer = ask(named.port, chat_body(model="fast/one")).json
    assert answer["model"] == "fast/one"
    assert backend.requests[0].json["model"] == "scripted"


# Passing on.


def test_embeddings_and_completions_are_passed_on(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    body = {"model": "m", "input": ["a", "bcd"], "dimensions": 3}
    headers = {"authorization": "Bearer sk-client", "cookie": "a=b", "x-custom": "y"}
    reply = ask(gateway.port, body, path="/v1/embeddings", headers=headers)
    assert [item["embedding"][0] for item in reply.json["data"]] == [1.0, 3.0]
    reply = ask(gateway.port, {"model": "m", "prompt": "Once"}, path="/v1/completions")
    assert reply.json["choices"][0]["text"] == "Once"
    embeddings, completions = backend.requests
    assert embeddings.path == "/v1/embeddings"
    assert embeddings.json == body
    assert {"authorization", "cookie", "x-custom"}.isdisjoint(embeddings.headers)
    assert completions.path == "/v1/completions"


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/completions"])
def test_a_passed_on_body_has_the_backends_own_name_for_the_model(
    named: Gateway, backend: ScriptedServer, path: str
) -> None:
    body = b' {"input" : "a" ,"prompt":"b", "model" :"%b"}'
    assert ask(named.port, body % b"fast/one", path=path).status == 200
    assert ask(named.port, body % b"slow", path=path).status == 200
    assert [asked.body for asked in backend.requests] == [body % b"scripted", body % b"slow"]


def test_what_is_passed_on_goes_to_the_backends_of_the_model_it_names(
    backend: ScriptedServer,
) -> None:
    with ScriptedServer() as far:
        config = NAMED.format(url=backend.url).replace(backend.url, far.url, 1)
        with running(config=config) as gateway:
            for model in ("slow", "fast/one"):
                ask(gateway.port, {"model": model, "input": "x"}, path="/v1/embeddings")
        assert [asked.json["model"] for asked in backend.requests] == ["slow"]
        assert [asked.json["model"] for asked in far.requests] == ["scripted"]


def test_a_passed_on_stream_arrives_as_it_is(gateway: Gateway) -> None:
    body = {"model": "m", "prompt": "Once", "stream": True}
    reply = ask(gateway.port, body, path="/v1/completions")
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.body.endswith(b"data: [DONE]\n\n")


def test_a_passed_on_error_has_our_form(gateway: Gateway) -> None:
    reply = ask(gateway.port, {"model": "m"}, path="/v1/audio/speech")
    assert reply.status == 404
    assert "Invalid URL" in reply.error["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/",
        "/api/tags",
        "/api/delete",
        "/admin",
        "/redoc",
        "/v1/openapi.json",
        "/_scripted/requests",
        "/v1/../_scripted/requests",
        "/v1/..%2f_scripted/requests",
        "/v1/%5fscripted",
        "/v1/models/../../_scripted/requests",
        "/v2/chat/completions",
        "/chat/completions",
        "/debug/vars",
        "/favicon.ico",
    ],
)
def test_nothing_else_of_the_backend_can_be_reached(
    gateway: Gateway, backend: ScriptedServer, path: str
) -> None:
    reply = ask(gateway.port, path=path)
    assert reply.status == 404
    assert reply.headers["content-type"] == "application/json"
    assert reply.error["type"] == "invalid_request_error"
    assert [request.path for request in backend.requests] in ([], ["/v1/models"])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/chat/completions"),
        ("DELETE", "/v1/chat/completions"),
        ("POST", "/v1/models"),
        ("DELETE", "/v1/models/scripted"),
        ("POST", "/healthz"),
        ("PUT", "/metrics"),
        ("HEAD", "/v1/chat/completions"),
    ],
)
def test_a_wrong_method_is_a_405(
    gateway: Gateway, backend: ScriptedServer, method: str, path: str
) -> None:
    reply = ask(gateway.port, path=path, method=method)
    assert reply.status == 405
    assert reply.headers["allow"]
    assert method == "HEAD" or reply.error["code"] == "method_not_allowed"
    assert backend.requests == []


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions"])
def test_a_websocket_is_refused_so_that_clients_go_on_over_http(
    gateway: Gateway, path: str
) -> None:
    offer = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    reply = ask(gateway.port, path=path, headers={**offer, "sec-websocket-key": "eA=="})
    assert (reply.status, reply.headers["allow"]) == (426, "POST")
    assert reply.error["code"] == "websocket_not_supported"


# Health and metrics.


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/v1/models"])
def test_what_can_be_read_can_be_asked_for_without_its_body(gateway: Gateway, path: str) -> None:
    reply = ask(gateway.port, path=path, method="HEAD")
    assert (reply.status, reply.body) == (200, b"")
    assert int(reply.headers["content-length"]) > 0


def test_health_and_readiness(gateway: Gateway, backend: ScriptedServer) -> None:
    assert ask(gateway.port, path="/healthz").json == {"status": "ok"}
    assert ask(gateway.port, path="/readyz").json == {"status": "ready"}
    assert backend.requests == []


def test_metrics_count_what_happens(gateway: Gateway, backend: ScriptedServer) -> None:
    before = _metrics(gateway)
    backend.use("std", [{"calls": [["now", {}], ["now", {}]]}])
    ask(gateway.port, chat_body(tools=TOOLS, stream=True, stream_options={"include_usage": True}))
    backend.use("err500_always")
    ask(gateway.port, chat_body(temperature=3))
    after = _metrics(gateway)

    def grew(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    assert grew('toolwire_requests_total{route="*",status="200",stream="true"}') == 1
    assert grew('toolwire_requests_total{route="other",status="400",stream="false"}') == 1
    assert grew("toolwire_tool_calls_total") == 2
    assert grew('toolwire_tokens_total{kind="prompt"}') > 0
    at = f'{{backend="127.0.0.1:{backend.port}"}}'
    assert grew(f"toolwire_first_token_seconds_count{at}") == 1
    assert grew(f"toolwire_backend_attempts_total{at}") == 1
    assert after["toolwire_requests_in_flight"] == 1
    assert after["process_resident_memory_bytes"] > 0


def test_only_streamed_answers_have_a_time_to_their_first_byte(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", ["hello"])
    count = f'toolwire_first_token_seconds_count{{backend="127.0.0.1:{backend.port}"}}'
    before = _metrics(gateway).get(count, 0)
    assert ask(gateway.port, chat_body(stream=False)).status == 200
    assert _metrics(gateway).get(count, 0) == before
    assert ask(gateway.port, chat_body(stream=True)).status == 200
    assert _metrics(gateway)[count] == before + 1


def _metrics(gateway: Gateway) -> dict[str, float]:
    reply = ask(gateway.port, path="/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    lines = [line for line in reply.body.decode().splitlines() if line and line[0] != "#"]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_no_client_can_make_metrics_grow(gateway: Gateway) -> None:
    before = len(_metrics(gateway))
    for number in range(50):
        ask(gateway.port, chat_body(model=f"model-{number}", messages=[]))
        ask(gateway.port, path=f"/nothing/{number}")
    assert len(_metrics(gateway)) <= before + 20


# Headers.


def test_every_answer_has_an_id_that_the_log_knows(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    replies = [
        ask(gateway.port, chat_body()),
        ask(gateway.port, chat_body(stream=True)),
        ask(gateway.port, chat_body(messages=[])),
        ask(gateway.port, path="/nothing"),
        ask(gateway.port, path="/v1/models"),
        ask(gateway.port, {"model": "m", "input": "x"}, path="/v1/embeddings"),
    ]
    ids = [reply.headers["toolwire-request-id"] for reply in replies]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("req_[0-9a-f]{32}", request_id) for request_id in ids)
    assert all(gateway.wait_for_log(request_id) for request_id in ids)
    assert [reply.headers["x-request-id"] for reply in replies] == ids


@pytest.mark.parametrize("stream", [True, False])
def test_ignored_parameters_are_named_and_not_forwarded(
    gateway: Gateway, backend: ScriptedServer, stream: bool
) -> None:
    body = chat_body(stream=stream, top_k=5, chat_template="{{7*7}}", temperature=1, store=None)
    reply = ask(gateway.port, body)
    assert reply.headers["toolwire-ignored-params"] == "top_k, chat_template"
    assert set(backend.requests[0].json) == {"model", "messages", "temperature", "stream"}


def test_a_dialect_decides_what_is_ignored(named: Gateway, backend: ScriptedServer) -> None:
    body = chat_body(model="slow", max_completion_tokens=5, logprobs=True, user="u")
    reply = ask(named.port, body)
    assert reply.headers["toolwire-ignored-params"] == "logprobs, user"
    assert backend.requests[0].json["max_tokens"] == 5


def test_a_parameters_name_cannot_break_out_of_the_header(gateway: Gateway) -> None:
    names = ["a\r\nset-cookie: x=y", "b\n\n<html>", "ü\u2028", "c\0d", '"quoted"', "x" * 5000]
    body = chat_body(**dict.fromkeys([*names, *map(str, range(100))], 1))
    with connected(gateway.port) as sock:
        sock.sendall(request_bytes(body, "connection: close"))
        head, _, rest = read_to_end(sock).partition(b"\r\n\r\n")
    assert json.loads(rest)["object"] == "chat.completion"
    lines = head.decode("ascii").split("\r\n")
    assert all(re.fullmatch(r"[a-z0-9-]+: [\x20-\x7e]*", line) for line in lines[1:])
    assert not [line for line in lines if line.startswith("set-cookie")]
    (value,) = [line for line in lines if line.startswith("toolwire-ignored-params")]
    assert len(value) < 4000
    assert value.endswith("more")


def test_adjusted_parameters_are_named(gateway: Gateway, backend: ScriptedServer) -> None:
    strict = tool("f")
    strict["function"]["strict"] = True
    strict["function"]["parameters"] |= {"additionalProperties": False, "required": []}
    reply = ask(gateway.port, chat_body(tools=[strict], parallel_tool_calls=True))
    assert reply.headers["toolwire-adjusted-params"] == "parallel_tool_calls"
    assert backend.requests[0].json["parallel_tool_calls"] is False


def test_repairs_are_named_in_the_header_or_at_the_end_of_the_stream(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("nofinish", ["hi"])
    assert ask(gateway.port, chat_body()).headers["toolwire-repairs"] == "finish_reason_missing"
    backend.use("nofinish", ["hi"])
    body = ask(gateway.port, chat_body(stream=True)).body
    notes = [chunk["toolwire"] for chunk in _chunks(body) if "toolwire" in chunk]
    assert notes == [{"repairs": ["finish_reason_missing"]}]


def _chunks(body: bytes) -> list[Any]:
    events = [line.removeprefix("data: ") for line in body.decode().split("\n\n") if line]
    return [json.loads(event) for event in events if event != "[DONE]"]


def test_a_healthy_answer_has_nothing_to_repair(gateway: Gateway) -> None:
    for stream in (True, False):
        reply = ask(gateway.port, chat_body(stream=stream))
        unwanted = {"toolwire-repairs", "toolwire-ignored-params", "toolwire-adjusted-params"}
        assert unwanted.isdisjoint(reply.headers)
        assert b'"toolwire"' not in reply.body


@pytest.mark.parametrize(
    ("headers", "profile"),
    [
        ({}, "default"),
        ({"user-agent": "Cline/2.18.0"}, "cline2"),
        ({"user-agent": "Cline/2.18.0", "toolwire-profile": "default"}, "default"),
        ({"toolwire-profile": "cline2"}, "cline2"),
        ({"toolwire-profile": "nonsense\x80"}, "default"),
    ],
)
def test_the_profile_of_a_client_is_shown(
    gateway: Gateway, backend: ScriptedServer, headers: dict[str, str], profile: str
) -> None:
    backend.use("std", [{"calls": [["now", {}]]}])
    reply = ask(gateway.port, chat_body(tools=TOOLS, stream=True), headers=headers)
    assert reply.headers["toolwire-profile"] == profile
    assert (b'"call_id"' in reply.body) == (profile == "cline2")


def test_the_backend_that_answered_is_shown(named: Gateway) -> None:
    for model, name in (("fast/one", "near"), ("slow", "far")):
        reply = ask(named.port, chat_body(model=model, stream=True))
        assert reply.headers["toolwire-backend"] == name


@pytest.mark.parametrize("stream", [True, False])
def test_estimated_usage_is_marked(gateway: Gateway, backend: ScriptedServer, stream: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if stream else {}
    backend.use("nousage", ["hi"])
    reply = ask(gateway.port, chat_body(stream=stream, **options))
    assert _is_estimate(reply, stream=stream)
    backend.use("std", ["hi"])
    reply = ask(gateway.port, chat_body(stream=stream, **options))
    assert not _is_estimate(reply, stream=stream)


def _is_estimate(reply: Reply, *, stream: bool) -> bool:
    if stream:
        return _chunks(reply.body)[-1].get("toolwire") == {"usage": "estimated"}
    return reply.headers.get("toolwire-usage") == "estimated"
