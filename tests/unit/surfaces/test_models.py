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
from toolwire.surfaces.models import Models


def routes(*names: str) -> Routes:
    """Routes by these names; `a=b,c`: the route `a` with aliases `b` and `c`."""
    pool = BackendPool([], lambda: 0.0)
    given = [(name, also.split(",") if also else ()) for name, _, also in map(_split, names)]
    return Routes(ServedModel(name, pool, aliases=tuple(also)) for name, also in given)


def _split(name: str) -> tuple[str, str, str]:
    return name.partition("=")


async def theirs() -> list[str]:
    return ["qwen", "a"]


async def unreachable() -> list[str]:
    raise UpstreamError("gone")


def ask(target: bytes, *names: str, fetch: Callable[[], Awaitable[list[str]]] = unreachable) -> Any:
    models = Models(routes(*names), 7, fetch)
    client = Client(HttpRequest("GET", target))
    answer = models.list if target.partition(b"?")[0] == b"/v1/models" else models.show
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


def test_a_model_has_anthropics_fields() -> None:
    model = ask(b"/v1/models/a", "a")
    assert {name: model[name] for name in ("id", "type", "display_name", "created_at")} == {
        "id": "a", "type": "model", "display_name": "a", "created_at": "1970-01-01T00:00:07Z",
    }  # fmt: skip


def test_an_exact_alias_is_listed_and_a_pattern_is_not() -> None:
    assert listed("a=b,claude-*") == ["a", "b"]


@pytest.mark.parametrize("name", ["b", "claude-haiku", "claude-"])
def test_every_name_of_a_model_is_found_under_that_name(name: str) -> None:
    model = ask(f"/v1/models/{name}".encode(), "a=b,claude-*")
    assert model["id"] == model["display_name"] == name
    assert model["toolwire"]["name"] == "a"
    assert model["toolwire"]["aliases"] == ["b", "claude-*"]


def test_the_backends_of_a_pattern_are_not_asked() -> None:
    assert ask(b"/v1/models/claude-x", "claude-*", "*")["id"] == "claude-x"


PAGES = {
    b"": ("abcde", False),
    b"?beta=true&x=%ff&limit": ("abcde", False),
    b"?limit=1000": ("abcde", False),
    b"?limit=2": ("ab", True),
    b"?limit=0": ("a", True),
    b"?limit=-1": ("abcde", False),
    b"?limit=99999999999999999999999": ("abcde", False),
    b"?limit=2&after_id=b": ("cd", True),
    b"?limit=2&after_id=d": ("e", False),
    b"?limit=2&after_id=e": ("", False),
    b"?limit=2&after_id=x": ("", False),
    b"?limit=2&before_id=d": ("bc", True),
    b"?limit=2&before_id=b": ("a", False),
    b"?limit=2&before_id=a": ("", False),
}


@pytest.mark.parametrize("query", PAGES, ids=bytes.decode)
def test_the_list_is_paged_as_anthropics_is(query: bytes) -> None:
    body = ask(b"/v1/models" + query, *"abcde")
    names, more = PAGES[query]
    assert [model["id"] for model in body["data"]] == list(names)
    assert body["has_more"] is more
    assert (body["first_id"], body["last_id"]) == ((names[0], names[-1]) if names else (None, None))
