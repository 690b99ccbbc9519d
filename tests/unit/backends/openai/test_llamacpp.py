"""What a llama.cpp server says of its model."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from toolwire.backends.base import Capabilities
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.http import HttpPool, Origin
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.backends.openai.llamacpp import read_capabilities
from toolwire.errors import UpstreamError


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        (
            b'{"model_path":"/m/Qwen3-8B-Q4_K_M.gguf","chat_template":"{{ tools }}",'
            b'"chat_template_caps":{"supports_tools":true,"supports_tool_calls":true}}',
            Capabilities("Qwen3-8B-Q4_K_M.gguf", "{{ tools }}"),
        ),
        (
            b'{"model_path":"C:\\\\m\\\\x.gguf","model_alias":"org/gemma-3","chat_template":"",'
            b'"chat_template_caps":{"supports_tools":false}}',
            Capabilities("gemma-3", has_tools=False),
        ),
        (b'{"model_path":"C:\\\\m\\\\x.gguf"}', Capabilities("x.gguf")),
        (b"{}", Capabilities()),
    ],
)
def test_its_words_are_read_and_what_it_does_not_say_is_not_held_against_it(
    body: bytes, facts: Capabilities
) -> None:
    assert read_capabilities(body) == facts


DEEP = b'{"x":' + b"[" * 100_000


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"chat_template_caps":1}', b"\xff", DEEP]
)
def test_what_is_something_else_is_none_of_it(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of which kind is all the same
        read_capabilities(body)


class Told:
    """A server that answers each request with the next of these, and then with the last."""

    def __init__(self, *answers: tuple[int, bytes], name: str = "") -> None:
        self.asked: list[str] = []
        self._answers = list(answers)
        self._name = f"server: {name}\r\n" if name else ""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode().split()[1])
        status, body = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        writer.write(
            f"HTTP/1.1 {status} X\r\n{self._name}content-length: {len(body)}\r\n"
            "connection: close\r\n\r\n".encode()
            + body
        )
        with suppress(ConnectionError):  # whoever has heard enough hangs up
            await writer.drain()
        writer.close()


def met(server: Told, dialect: str, use: Callable[[OpenAiHttpBackend], Awaitable[object]]) -> bool:
    """Whether nothing is left to ask the server after this use of it."""

    async def go() -> bool:
        async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            pool = HttpPool(Origin.of(f"http://127.0.0.1:{port}/at/v1"), connect_timeout=2)
            backend = OpenAiHttpBackend("b", pool, DIALECTS[dialect])
            await use(backend)
            return not backend.needs_probe

    return asyncio.run(go())


TELLS = (200, b'{"chat_template_caps":{"supports_tools":false}}')


def test_however_many_turns_begin_at_once_it_is_asked_once() -> None:
    async def use(backend: OpenAiHttpBackend) -> None:
        await asyncio.gather(*(backend.probe() for _ in range(5)))
        assert not backend.capabilities.has_tools

    server = Told(TELLS)
    assert met(server, "llamacpp", use)
    assert server.asked == ["/at/props"]


@pytest.mark.parametrize(
    ("answer", "settled"),
    [((404, b""), True), ((401, b"{}"), True), ((200, b"<html>"), True), ((503, b"{}"), False)],
)
def test_one_that_does_not_tell_can_be_used_and_one_that_is_not_up_is_asked_again(
    answer: tuple[int, bytes], settled: bool
) -> None:
    async def use(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        assert backend.capabilities.has_tools

    assert met(Told(answer), "llamacpp", use) is settled


def test_those_who_wait_while_it_turns_out_not_to_be_up_do_not_ask_in_turn() -> None:
    server = Told((503, b"{}"))
    everyone = lambda backend: asyncio.gather(*(backend.probe() for _ in range(5)))  # noqa: E731
    assert not met(server, "llamacpp", everyone)
    assert server.asked == ["/at/props"]


def test_one_that_never_stops_telling_is_not_listened_to_for_ever() -> None:
    async def use(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        assert backend.capabilities.has_tools
        with pytest.raises(UpstreamError, match="too much at /models"):
            await backend.models()

    assert met(Told((200, TELLS[1] + b" " * (9 << 20))), "llamacpp", use)


def test_a_list_of_models_that_is_none_is_said_to_be_none() -> None:
    async def use(backend: OpenAiHttpBackend) -> None:
        with pytest.raises(UpstreamError, match="gave no list of models"):
            await backend.models()

    met(Told((200, DEEP)), "generic", use)


@pytest.mark.parametrize(("name", "settled"), [("llama.cpp", False), ("uvicorn", True), ("", True)])
def test_one_that_says_what_it_is_will_be_asked(name: str, settled: bool) -> None:
    server = Told((200, b'{"data":[]}'), name=name)
    assert met(server, "generic", lambda backend: backend.models()) is settled


def test_one_that_has_been_asked_is_left_in_peace_for_a_while() -> None:
    async def use(backend: OpenAiHttpBackend) -> None:
        await backend.probe()
        await backend.models()

    assert met(Told(TELLS, (200, b'{"data":[]}'), name="llama.cpp"), "llamacpp", use)
