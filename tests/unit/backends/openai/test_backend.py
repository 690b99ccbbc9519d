"""A server that has no such endpoint is told from one that has it and refuses. After a large piece
of an answer the rest waits for its end, but the backend is not silent."""

import asyncio
import json
from collections.abc import Callable
from typing import cast

import pytest

from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.http import Connection, HttpPool, Origin
from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.backends.openai.http_answers import OpenAiHttpAnswer
from toolwire.errors import UpstreamRefused
from toolwire.gateway.strategies.native import Hybrid
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import NO_TOOLS


def refused(status: int, body: bytes) -> UpstreamRefused:
    """What becomes of this answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status} No\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async def ask() -> UpstreamRefused:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            pool = HttpPool(Origin.of(f"http://127.0.0.1:{port}/v1"), connect_timeout=2)
            backend = OpenAiHttpBackend("b", pool, DIALECTS["generic"])
            messages = (ChatMessage("user", "hi"),)
            with pytest.raises(UpstreamRefused) as caught:
                await backend.open(BackendRequest(Request("m", messages), messages, NO_TOOLS))
        return caught.value

    return asyncio.run(ask())


def error(words: str) -> bytes:
    return json.dumps({"error": {"message": words}}).encode()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b'{"detail":"Not Found"}'),
        (404, error("File Not Found")),
        (404, b"404 page not found"),
        (404, b""),
        (404, b"<html>Cannot POST</html>"),
        (404, error("Invalid URL (POST /v1/chat/completions)")),
        (405, b'{"detail":"Method Not Allowed"}'),
    ],
)
def test_a_missing_endpoint_is_named_with_what_to_do(status: int, body: bytes) -> None:
    assert "has no /chat/completions" in refused(status, body).message


@pytest.mark.parametrize(
    "words",
    [
        "No endpoints found that support tool use.",
        "No endpoints found matching your data policy.",
        "The model `x` was not found.",
    ],
)
def test_what_else_is_said_with_a_404_is_passed_on(words: str) -> None:
    assert refused(404, error(words)).message == words


def test_a_404_can_tell_that_there_are_no_tools() -> None:
    found = refused(404, error("No endpoints found that support tool use."))
    assert Hybrid(format="hermes").lack(found) == "tools"


def event(text: str) -> bytes:
    return b'data: {"choices": [{"index": 0, "delta": {"content": "%b"}}]}\n\n' % text.encode()


class Wire:
    """A connection on which these blocks arrive."""

    def __init__(self, blocks: list[bytes]) -> None:
        self.blocks = blocks

    async def relay(self, listener: Callable[[bytes], None]) -> None:
        for block in self.blocks:
            listener(block)

    def enough(self) -> None: ...


def heard(*texts: str) -> list[list[Fragment]]:
    wire = Wire([*map(event, texts), b"data: [DONE]\n\n"])
    answer = OpenAiHttpAnswer(
        cast("HttpPool", None),
        cast("Connection", wire),
        AnswerDecoder(max_line=8 << 20),
        64 << 20,
    )
    told: list[list[Fragment]] = []
    assert asyncio.run(answer.relay(told.append))
    return told


def test_every_read_is_news_and_nothing_is_lost() -> None:
    told = heard("a", "x" * 300_000, "b", "c")
    assert [len(fragments) for fragments in told[:4]] == [1, 0, 0, 0]
    texts = [fragment.text for fragments in told for fragment in fragments]
    assert "".join(texts) == "a" + "x" * 300_000 + "bc"
    assert max(map(len, texts)) <= 64 * 1024


def test_small_pieces_pass_at_once() -> None:
    assert [len(fragments) for fragments in heard("a", "b")] == [1, 1]
