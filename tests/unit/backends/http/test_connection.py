"""A connection to a backend keeps nothing of an answer that is over."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import ref

import pytest

from toolwire.backends.http import Connection
from toolwire.backends.loop_budget import LoopBudget
from toolwire.errors import UpstreamUnavailable

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Transport:
    """Goes nowhere."""

    def writelines(self, data: Any) -> None: ...

    reading = True
    closing = False

    def is_closing(self) -> bool:
        return self.closing

    def abort(self) -> None:
        self.closing = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class SpentBudget(LoopBudget):
    """A budget that is spent already, if the test says so."""

    is_spent = True
    spent = property(lambda self: self.is_spent)  # type: ignore[assignment]


def say(connection: Connection, data: bytes) -> None:
    """Have a connection read some bytes."""
    buffer = connection.get_buffer(-1)
    buffer[: len(data)] = data
    connection.buffer_updated(len(data))


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


def answered(*blocks: bytes) -> Connection:
    """A connection after a request, and these blocks."""

    async def run() -> Connection:
        connection = Connection(bytearray(1024))
        connection.connection_made(Transport())  # type: ignore[arg-type]
        asking = asyncio.create_task(connection.request(b"", b""))
        await asyncio.sleep(0)
        for block in blocks:
            say(connection, block)
        assert (await asking).status == 200
        return connection

    return asyncio.run(run())


def test_a_connection_is_used_again_after_its_response() -> None:
    assert answered(HEAD + b"ok").reusable


def test_a_response_to_no_request_ends_the_connection() -> None:
    assert not answered(HEAD + b"ok", b"HTTP/1.1 2").alive


def test_a_connection_on_which_another_response_has_begun_is_not_used_again() -> None:
    assert not answered(HEAD + b"okHTTP/1.1 2").reusable


def relayed(
    play: Callable[[Connection, SpentBudget, Transport], Coroutine[Any, Any, None]],
) -> bytes:
    """What a listener gets to hear of an answer of five bytes that is read as the test says."""

    async def run() -> bytes:
        budget, transport = SpentBudget(), Transport()
        connection = Connection(bytearray(1024), budget)
        connection.connection_made(transport)  # type: ignore[arg-type]
        asking = asyncio.create_task(connection.request(b"", b""))
        await asyncio.sleep(0)
        budget.is_spent = False
        say(connection, HEAD.replace(b"2", b"5"))
        budget.is_spent = True
        await asking
        heard: list[bytes] = []
        relaying = asyncio.create_task(connection.relay(heard.append))
        await asyncio.sleep(0)
        await play(connection, budget, transport)
        await relaying
        return b"".join(heard)

    return asyncio.run(run())


def test_what_is_read_late_in_an_iteration_is_used_in_one_of_the_next_and_in_order() -> None:
    async def play(connection: Connection, budget: SpentBudget, transport: Transport) -> None:
        say(connection, b"ab")
        assert not transport.reading
        await asyncio.sleep(0)
        assert transport.reading
        budget.is_spent = False
        say(connection, b"cde")

    assert relayed(play) == b"abcde"


def test_a_client_that_catches_up_does_not_make_bytes_overtake_each_other() -> None:
    async def play(connection: Connection, _budget: SpentBudget, transport: Transport) -> None:
        say(connection, b"ab")
        connection.pause()
        connection.resume()
        assert not transport.reading
        await asyncio.sleep(0)
        connection.pause()
        assert not transport.reading
        connection.resume()
        say(connection, b"cde")

    assert relayed(play) == b"abcde"


def test_what_was_read_late_is_not_lost_with_the_connection() -> None:
    async def play(connection: Connection, _budget: SpentBudget, _transport: Transport) -> None:
        say(connection, b"abcde")
        connection.connection_lost(None)

    assert relayed(play) == b"abcde"


def test_a_connection_that_is_lost_within_a_body_is_told_from_one_without_an_answer() -> None:
    async def play(connection: Connection, budget: SpentBudget, _transport: Transport) -> None:
        budget.is_spent = False
        say(connection, b"abc")
        connection.connection_lost(None)

    with pytest.raises(UpstreamUnavailable) as caught:
        relayed(play)
    assert caught.value.disconnected

    async def run() -> None:
        connection = Connection(bytearray(1024))
        connection.connection_made(Transport())  # type: ignore[arg-type]
        asyncio.get_running_loop().call_soon(connection.connection_lost, None)
        await connection.request(b"", b"")

    with pytest.raises(UpstreamUnavailable) as caught:
        asyncio.run(run())
    assert not caught.value.disconnected
