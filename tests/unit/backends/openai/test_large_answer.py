"""After a large piece of an answer the rest waits for its end, but the backend is not silent."""

import asyncio
from collections.abc import Callable
from typing import cast

from toolwire.backends.http import Connection, HttpPool
from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.backends.openai.backend import OpenAiHttpAnswer
from toolwire.protocol.fragments import Fragment


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
