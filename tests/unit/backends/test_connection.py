"""A connection to a backend keeps nothing of an answer that is over."""

import asyncio
from collections.abc import Callable
from typing import Any
from weakref import ref

from toolwire.backends.http import Connection

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Transport:
    """Goes nowhere."""

    def writelines(self, data: Any) -> None: ...

    def is_closing(self) -> bool:
        return False


def test_a_turn_that_is_cancelled_as_its_answer_ends_is_not_kept_with_the_connection() -> None:
    async def run() -> None:
        buffer = bytearray(1024)
        connection = Connection(buffer)
        transport: Any = Transport()
        connection.connection_made(transport)
        asking = asyncio.create_task(connection.request(b"", b""))
        await asyncio.sleep(0)
        buffer[: len(HEAD)] = HEAD
        connection.buffer_updated(len(HEAD))
        await asking
        listener: Callable[[bytes], None] = lambda _block: None  # noqa: E731
        watched = ref(listener)
        relaying = asyncio.create_task(connection.relay(listener))
        await asyncio.sleep(0)
        buffer[:2] = b"ok"
        connection.buffer_updated(2)
        relaying.cancel()
        await asyncio.wait([relaying])
        assert relaying.cancelled()
        assert connection.reusable
        del listener, relaying
        assert watched() is None

    asyncio.run(run())
