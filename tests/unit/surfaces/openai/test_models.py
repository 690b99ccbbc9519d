import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contract.chatting import Client

from toolwire.backends.pool import BackendPool
from toolwire.errors import ModelNotFound, UpstreamError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.openai.models import Models


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
