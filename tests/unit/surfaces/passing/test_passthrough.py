"""Requests that are passed on: to which model, under which name, and how its answer comes back."""

import asyncio
from typing import Any

import pytest
from tests.contract.chatting import Client

from toolwire.backends.named_body import NamedBody
from toolwire.backends.pool import BackendPool
from toolwire.errors import ModelNotFound, RequestError, UpstreamError, UpstreamUnavailable
from toolwire.gateway.context import RequestContext
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.passing.endpoints import DEFAULT_ENDPOINTS, AllowList, Endpoint
from toolwire.surfaces.passing.passthrough import Passthrough

JSON = {b"content-type": b"application/json"}


class Named:
    """All of a backend that is needed here."""

    def __init__(self, name: str, send: Any) -> None:
        self.name = name
        self._send = send

    async def forward(self, *request: Any) -> Any:
        return await self._send(self, *request)


class Answered:
    """An answer of a few bytes, which may break off."""

    status = 200

    def __init__(self, *pieces: bytes, error: UpstreamError | None = None) -> None:
        self.headers = {b"content-type": b"text/plain", b"content-length": b"5", b"x": b"y"}
        self.closed = False
        self._pieces = pieces
        self._error = error

    async def relay(self, listener: Any) -> None:
        for piece in self._pieces:
            listener(piece)
        if self._error is not None:
            raise self._error

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None:
        self.closed = True


class Stage:
    """The surface before backends that answer as they are told: errors, then answers."""

    def __init__(self, *models: str, backends: int = 1, answers: Any = ()) -> None:
        self.sent: list[tuple[str, str, str, bytes, str | None]] = []
        self._answers = list(answers)

        def pool(name: str) -> BackendPool:
            named: Any = [Named(f"{name}{n}", self._send) for n in range(backends)]
            return BackendPool(named, _clock)

        served = [ServedModel(name, pool(name)) for name in models]
        limits = TurnLimits(backoff=0.0)
        self._surface = Passthrough(Routes(served), limits, lambda prefix: prefix + "1")

    async def _send(self, backend: Any, method: str, target: str, body: NamedBody) -> Any:
        raw = b"".join(body.under(body.model))
        self.sent.append((backend.name, method, target, raw, body.model))
        answer = self._answers.pop(0) if self._answers else Answered(b"hello")
        if isinstance(answer, UpstreamError):
            raise answer
        return answer

    def ask(self, target: str, body: bytes = b"", method: str = "POST", **headers: bytes) -> Client:
        given = {b"content-type": headers.get("kind", b"application/json")}
        client = Client(HttpRequest(method, target.encode(), given, body))
        asyncio.run(self._surface.answer(client, RequestContext("req_1")))  # type: ignore[arg-type]
        return client


def _clock() -> float:
    return 0.0


def test_the_body_says_which_model_is_meant() -> None:
    stage = Stage("a", "b")
    stage.ask("/v1/embeddings", b'{"model":"b"}')
    assert stage.sent == [("b0", "POST", "/embeddings", b'{"model":"b"}', "b")]


@pytest.mark.parametrize("raw", [b"{}", b'{"model":null}', b'{"x":1}'])
def test_a_model_must_be_named_where_there_are_several(raw: bytes) -> None:
    stage = Stage("a", "b")
    with pytest.raises(RequestError) as error:
        stage.ask("/v1/completions", raw)
    assert (error.value.code, error.value.param) == ("missing_required_parameter", "model")
    assert stage.sent == []


def test_where_there_is_one_its_name_is_put_in() -> None:
    stage = Stage("a")
    stage.ask("/v1/completions", b'{"x":1}')
    assert stage.sent[0][3:] == (b'{"model":"a","x":1}', "a")


def test_where_any_name_goes_none_is_put_in() -> None:
    stage = Stage("a", "*")
    stage.ask("/v1/completions", b'{"x":1}')
    stage.ask("/v1/completions", b'{"model":"other"}')
    assert [sent[0] for sent in stage.sent] == ["*0", "*0"]
    assert [sent[3] for sent in stage.sent] == [b'{"x":1}', b'{"model":"other"}']


def test_a_model_that_no_route_serves_is_not_found() -> None:
    with pytest.raises(ModelNotFound):
        Stage("a").ask("/v1/completions", b'{"model":"b"}', kind=b"text/plain")


def test_only_some_headers_of_an_answer_are_passed_on() -> None:
    client = Stage("a").ask("/v1/completions", b'{"model":"a"}')
    assert (client.status, client.written, client.ended) == (200, b"hello", True)
    assert client.headers["content-type"] == "text/plain"
    assert client.headers["toolwire-backend"] == "a0"
    assert {"x", "content-length"}.isdisjoint(client.headers)


def test_the_client_is_told_of_a_coding_that_nobody_asked_for() -> None:
    answer = Answered(b"\x1f\x8b")
    answer.headers = {b"content-type": b"application/json", b"content-encoding": b"gzip"}
    client = Stage("a", answers=[answer]).ask("/v1/embeddings", b'{"model":"a"}')
    assert (client.headers["content-encoding"], client.written) == ("gzip", b"\x1f\x8b")


def test_a_failure_goes_to_the_next_backend() -> None:
    stage = Stage("a", backends=2, answers=[UpstreamUnavailable("busy", rate_limited=True)])
    client = stage.ask("/v1/completions", b'{"model":"a"}')
    assert [sent[0] for sent in stage.sent] == ["a0", "a1"]
    assert client.headers["toolwire-backend"] == "a1"


def test_once_a_byte_was_sent_nothing_is_tried_again() -> None:
    broken = Answered(b"hel", error=UpstreamError("gone"))
    stage = Stage("a", backends=2, answers=[broken])
    with pytest.raises(UpstreamError, match="gone"):
        stage.ask("/v1/completions", b'{"model":"a"}')
    assert len(stage.sent) == 1
    assert broken.closed


def test_a_query_is_passed_on_only_where_no_model_is_asked() -> None:
    stage = Stage("a", "b")
    client = stage.ask("/v1/completions?model=x&y", b'{"model":"a"}')
    assert stage.sent[0][2] == "/completions"
    assert client.headers["toolwire-ignored-params"] == "%3Fmodel, %3Fy"
    client = stage.ask("/v1/files?limit=2", method="GET")
    assert stage.sent[1][:4] == ("a0", "GET", "/files?limit=2", b"")


def test_of_a_head_no_body_is_waited_for() -> None:
    class Endless(Answered):
        async def relay(self, _listener: Any) -> None:
            await asyncio.sleep(3600)

    answer = Endless()
    client = Stage("a", answers=[answer]).ask("/v1/files/f-1", method="HEAD")
    assert (client.status, client.headers["content-type"]) == (200, "text/plain")
    assert answer.closed


# The list.


def allowed(path: str, *entries: str) -> list[str]:
    return list(AllowList(map(Endpoint.read, entries or DEFAULT_ENDPOINTS)).methods(path))


@pytest.mark.parametrize("path", DEFAULT_ENDPOINTS)
def test_what_every_server_may_have_is_in_the_list(path: str) -> None:
    assert allowed(f"/v1/{path}") == ["POST"]


@pytest.mark.parametrize(
    "path", ["/v1/files", "/v1/audio/x", "/v1/completions/", "/completions", "/v1/audio", "/v1/"]
)
def test_nothing_else_is(path: str) -> None:
    assert allowed(path) == []


def test_a_star_stands_for_one_segment() -> None:
    listed = ("GET files", "files", "GET files/*", "DELETE files/*", "GET files/*/content")
    assert allowed("/v1/files", *listed) == ["GET", "POST"]
    assert allowed("/v1/files/f-1", *listed) == ["GET", "DELETE"]
    assert allowed("/v1/files/f-1/content", *listed) == ["GET"]
    for path in ("/v1/files/", "/v1/files/a/b", "/v1/files/..", "/v1/files/a%2fb", "/v1/files/a/"):
        assert allowed(path, *listed) == []


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("", "use paths"),
        ("/v1/files", "use paths"),
        ("*", "use paths"),
        ("files/", "use paths"),
        ("../files", "use paths"),
        ("get files", "use paths"),
        ("TRACE files", "not passed on"),
        ("chat/completions", "Toolwire's own"),
        ("GET models", "Toolwire's own"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(entry: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Endpoint.read(entry)
