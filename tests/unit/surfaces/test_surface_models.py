import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contract.chatting import Client

from toolwire.backends.pool import BackendPool
from toolwire.errors import ModelNotFound, NotFound, UpstreamError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.openai.models import Models
from toolwire.surfaces.passthrough import Passthrough


def routes(*names: str) -> Routes:
    return Routes([ServedModel(name, BackendPool([], lambda: 0.0)) for name in names])


async def theirs() -> list[str]:
    return ["qwen", "a"]


async def unreachable() -> list[str]:
    raise UpstreamError("gone")


def ask(target: bytes, *names: str, fetch: Callable[[], Awaitable[list[str]]] = unreachable) -> Any:
    models = Models(routes(*names), 7, fetch)
    client = Client(HttpRequest("GET", target))
    answer = models.list if target == b"/v1/models" else models.show
    asyncio.run(answer(client, RequestContext("req_1")))  # type: ignore[arg-type]
    return client.json


def listed(*names: str, **more: Any) -> list[str]:
    body = ask(b"/v1/models", *names, **more)
    assert body["object"] == "list"
    return [model["id"] for model in body["data"]]


def test_the_models_we_serve_are_listed() -> None:
    assert listed("a", "b") == ["a", "b"]


def test_the_backends_models_are_listed_where_any_name_goes() -> None:
    assert listed("a", "*", fetch=theirs) == ["a", "qwen"]


def test_a_backend_that_is_down_does_not_hide_the_models_we_know() -> None:
    assert listed("a", "*") == ["a"]


def test_a_backend_that_is_down_is_said_where_we_know_none() -> None:
    with pytest.raises(UpstreamError):
        listed("*")


def test_a_model_has_openais_fields() -> None:
    model = ask(b"/v1/models/a", "a")
    assert {name: model[name] for name in ("id", "object", "created", "owned_by")} == {
        "id": "a", "object": "model", "created": 7, "owned_by": "toolwire",
    }  # fmt: skip


@pytest.mark.parametrize("target", [b"/v1/models/org/model", b"/v1/models/org%2Fmodel"])
def test_a_name_may_have_a_slash(target: bytes) -> None:
    assert ask(target, "org/model")["id"] == "org/model"


def test_an_unknown_model_is_not_found() -> None:
    with pytest.raises(ModelNotFound):
        ask(b"/v1/models/x", "a")
    with pytest.raises(ModelNotFound):
        ask(b"/v1/models/x", "*", fetch=theirs)


class TestPassthrough:
    def forwarded(self, target: bytes, raw: bytes = b"", kind: bytes = b"application/json") -> Any:
        """Where a request would go: the model's name and the target below the base URL."""
        seen: list[Any] = []

        async def send(model: ServedModel, method: str, below: str, *rest: Any) -> Any:
            seen.append((model.name, below))
            raise UpstreamError("far enough")

        surface = Passthrough(routes("a", "b"), send)
        client = Client(HttpRequest("POST", target, {b"content-type": kind}, raw))
        with pytest.raises((UpstreamError, NotFound)):
            asyncio.run(surface.answer(client, RequestContext("req_1")))  # type: ignore[arg-type]
        return seen[0] if seen else None

    def test_the_body_says_which_model_is_meant(self) -> None:
        assert self.forwarded(b"/v1/embeddings", b'{"model":"b"}') == ("b", "/embeddings")

    @pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"model":5}', b'{"model":null}', b"\xff"])
    def test_without_one_the_first_is(self, raw: bytes) -> None:
        assert self.forwarded(b"/v1/completions", raw) == ("a", "/completions")

    def test_a_body_that_is_not_json_is_not_looked_into(self) -> None:
        raw = b'{"model":"b"}'
        assert self.forwarded(b"/v1/audio/x", raw, b"multipart/form-data") == ("a", "/audio/x")

    @pytest.mark.parametrize("target", [b"/v1/files/f-1?a=b&c=%20", b"/v1/a.b/c:d"])
    def test_paths_and_queries_go_through(self, target: bytes) -> None:
        assert self.forwarded(target) == ("a", target.removeprefix(b"/v1").decode())

    @pytest.mark.parametrize(
        "target",
        [
            b"/v1/", b"/v1//x", b"/v1/../x", b"/v1/a/../x", b"/v1/%2e%2e/x", b"/v1/a b",
            b"/v1/a\r\nHost: x", b"/v1/a?\r\n", b"/v1/a\\@x", b"/v1x", b"/v1/.x",
        ],
    )  # fmt: skip
    def test_a_path_that_could_lead_elsewhere_is_not_found(self, target: bytes) -> None:
        assert self.forwarded(target) is None

    def test_of_a_head_no_body_is_waited_for(self) -> None:
        class Endless:
            status = 200
            headers = {b"content-type": b"text/plain", b"content-length": b"5"}  # noqa: RUF012
            closed = False

            async def relay(self, _listener: Any) -> None:
                await asyncio.sleep(3600)

            def pause(self) -> None: ...

            def resume(self) -> None: ...

            def close(self) -> None:
                self.closed = True

        answer = Endless()

        async def send(*_request: Any) -> Any:
            return answer

        client = Client(HttpRequest("HEAD", b"/v1/files/f-1"))
        surface = Passthrough(routes("a"), send)
        asking = surface.answer(client, RequestContext("req_1"))  # type: ignore[arg-type]
        asyncio.run(asyncio.wait_for(asking, 5))
        assert (client.status, client.headers["content-type"]) == (200, "text/plain")
        assert answer.closed
