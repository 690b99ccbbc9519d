"""A server is known by what it answers to harmless GETs."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.http import HttpPool, Origin
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.backends.openai.detection import dialect_of_host
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import NO_TOOLS
from toolwire.server.assembly import build_routes
from toolwire.server.config.loader import load

ANSWER = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
LM_STUDIO_404 = {"error": "Unexpected endpoint or method. (GET /props)"}


def owned(by: str) -> dict[str, Any]:
    return {"/v1/models": {"object": "list", "data": [{"id": "m", "owned_by": by}]}}


SERVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "vLLM": ("vllm", owned("vllm")),
    "vLLM behind a proxy": ("vllm", {"/version": {"version": "0.11.0"}}),
    "SGLang": ("sglang", owned("sglang")),
    "SGLang, other owner": ("sglang", owned("me") | {"/get_model_info": {"model_path": "/m"}}),
    "llama.cpp": ("llamacpp", owned("llamacpp")),
    "llama.cpp, alias": ("llamacpp", owned("me") | {"/props": {"default_generation_settings": {}}}),
    "Ollama": ("ollama", owned("library")),
    "Ollama, own model": ("ollama", owned("me") | {"/api/version": {"version": "0.12.0"}}),
    "LM Studio": ("lmstudio", owned("organization_owner")),
    "LM Studio, newer": (
        "lmstudio",
        owned("me") | {"/api/v0/models": {"data": [{"id": "m", "state": "loaded"}]}},
    ),
    "TGI": ("tgi", owned("org/m") | {"/info": {"model_id": "m", "max_input_tokens": 4095}}),
    "TGI 1": ("tgi", owned("org/m") | {"/info": {"model_id": "m", "max_input_length": 4095}}),
    "LMDeploy": ("lmdeploy", owned("lmdeploy")),
    "OpenAI": ("openai", owned("openai")),
    "unknown": ("auto", owned("me")),
    "answers anything": ("auto", owned("me") | {"*": LM_STUDIO_404}),
}


class Server:
    """Has these things at these paths, and answers every POST."""

    def __init__(self, has: dict[str, Any]) -> None:
        self.has = has
        self.failing = 0
        """The status of every answer, if it is not 0."""
        self.asked: list[str] = []
        self.bodies: list[Any] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split(" ", 2)
        told = self.has.get(path, self.has.get("*"))
        if method == "POST":
            length = int(head.casefold().split("content-length: ")[1].split("\r\n")[0])
            self.bodies.append(json.loads(await reader.readexactly(length)))
            told = ANSWER
        else:
            self.asked.append(path)
        body = json.dumps(told).encode()
        failing = 0 if method == "POST" else self.failing
        status = failing or (404 if told is None else 200)
        writer.write(
            f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()


def use(
    server: Server, go: Callable[[OpenAiHttpBackend], Awaitable[None]], dialect: str = "auto"
) -> None:
    async def serve() -> None:
        async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            pool = HttpPool(Origin.of(f"http://127.0.0.1:{port}/v1"), connect_timeout=2)
            await go(OpenAiHttpBackend("b", pool, DIALECTS[dialect]))

    asyncio.run(serve())


@pytest.mark.parametrize("kind", SERVERS)
def test_each_kind_of_server_is_known_and_asked_once(kind: str) -> None:
    dialect, has = SERVERS[kind]
    server = Server(has)

    async def go(backend: OpenAiHttpBackend) -> None:
        assert backend.needs_probe
        await asyncio.gather(*(backend.probe() for _ in range(3)))
        assert backend._dialect.name == dialect
        assert not backend.needs_probe

    use(server, go)
    assert len(server.asked) == len(set(server.asked)) or dialect == "llamacpp"
    assert server.asked[0] == "/v1/models"


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
def test_a_server_that_is_not_up_yet_is_asked_again(status: int) -> None:
    server = Server(owned("vllm"))
    server.failing = status

    async def go(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        assert backend.needs_probe
        server.failing = 0
        await backend.probe()
        assert backend._dialect.name == "vllm"

    use(server, go)


@pytest.mark.parametrize("dialect", ["auto", "llamacpp"])
def test_one_that_answers_turns_but_fails_when_asked_is_not_asked_for_each(dialect: str) -> None:
    server = Server({})
    server.failing = 503
    asking = BackendRequest(REQUEST, SAID, NO_TOOLS)

    async def go(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        for _ in range(2):
            (await backend.open(asking)).close()
            assert not backend.needs_probe
        backend._met_until -= 10
        (await backend.open(asking)).close()
        assert backend.needs_probe

    use(server, go, dialect)


def test_one_that_was_unknown_is_asked_again_after_a_while() -> None:
    """A proxy may answer before it has a server to pass requests on to."""
    server = Server({})
    asking = BackendRequest(REQUEST, SAID, NO_TOOLS)

    async def go(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        (await backend.open(asking)).close()
        assert not backend.needs_probe
        server.has = owned("vllm")
        backend._met_until -= 60
        (await backend.open(asking)).close()
        assert backend.needs_probe
        await backend.probe()
        assert backend._dialect.name == "vllm"
        (await backend.open(asking)).close()
        assert not backend.needs_probe

    use(server, go)


def test_one_that_lists_models_is_up_and_not_asked_again() -> None:
    server = Server(owned("somebody"))
    asking = BackendRequest(REQUEST, SAID, NO_TOOLS)

    async def go(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        backend._met_until -= 3600
        (await backend.open(asking)).close()
        assert not backend.needs_probe

    use(server, go)


def test_a_check_always_asks_an_unknown_server() -> None:
    server = Server({})

    async def go(backend: OpenAiHttpBackend) -> None:
        assert await backend.check() == ""
        server.has = owned("sglang")
        assert await backend.check() == "dialect sglang, its models are owned by 'sglang'"

    use(server, go)


EXTRA = {"top_k": b"20", "chat_template_kwargs": b'{"enable_thinking":false}', "odd": b"1"}
SAID = (
    ChatMessage("user", "a"),
    ChatMessage("assistant", "b", reasoning="R"),
    ChatMessage("user", "c"),
)
REQUEST = Request("m", SAID, extras=EXTRA)


def test_what_the_server_takes_is_then_forwarded() -> None:
    server = Server(owned("vllm"))

    async def go(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        outgoing = BackendRequest(REQUEST, SAID, NO_TOOLS, keep_special_tokens=True)
        (await backend.open(outgoing)).close()
        assert backend.ignored(REQUEST) == ["odd"]

    use(server, go)
    [body] = server.bodies
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body["top_k"], body["skip_special_tokens"]) == (20, False)
    assert body["messages"][1]["reasoning_content"] == "R"


def test_what_is_dropped_is_named_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toolwire.backends")

    async def go(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        for _ in range(3):
            assert set(backend.ignored(REQUEST)) == {*EXTRA, "reasoning_content"}

    use(Server(owned("openai")), go)
    lines = [record.getMessage() for record in caplog.records]
    assert sum("dialect openai, its models are owned by 'openai'" in line for line in lines) == 1
    assert sum("is not sent 'top_k' for the model m" in line for line in lines) == 1
    assert sum("is not sent 'reasoning_content'" in line for line in lines) == 1


def test_a_dialect_that_is_given_is_not_asked_for() -> None:
    async def go(backend: OpenAiHttpBackend) -> None:
        assert not backend.needs_probe

    use(Server({}), go, "vllm")


def test_check_says_which_it_is() -> None:
    async def go(backend: OpenAiHttpBackend) -> None:
        assert await backend.check() == "dialect sglang, its models are owned by 'sglang'"

    use(Server(owned("sglang")), go)


def test_services_are_known_by_their_names_without_a_question() -> None:
    assert dialect_of_host("api.openai.com") == "openai"
    assert dialect_of_host("localhost") is None
    config = load(None, env={}, flags={"upstream": ["https://openrouter.ai/api/v1"]})
    [model] = build_routes(config, None, lambda: 0.0, lambda text, _: text).models
    [backend] = model.pool.backends
    assert not backend.needs_probe


def test_what_is_configured_holds_for_the_dialect_that_is_found(tmp_path: Path) -> None:
    server = Server(owned("vllm"))

    async def go() -> None:
        async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            path = tmp_path / "toolwire.toml"
            path.write_text(
                f'[[models]]\nname = "m"\nbackend = {{ url = "http://127.0.0.1:{port}/v1", '
                'params_add = ["odd"], params_remove = ["top_k"] }\n'
            )
            config = load(path, env={}, flags={})
            [model] = build_routes(config, None, lambda: 0.0, lambda text, _: text).models
            [backend] = model.pool.backends
            await backend.probe()
            assert backend.ignored(REQUEST) == ["top_k"]

    asyncio.run(go())
