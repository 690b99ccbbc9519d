"""One client's connection, byte by byte, with an app that answers when it is told to."""

import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from toolwire.server.http.connection import ClientConnection
from toolwire.server.http.exchange import HttpExchange
from toolwire.server.http.limits import HttpLimits
from toolwire.server.http.server import HttpServer
from toolwire.surfaces.exchange import HttpRequest

KIB, MIB = 1 << 10, 1 << 20
GET = b"GET / HTTP/1.1\r\nhost: x\r\nauthorization: good\r\n\r\n"
GOOD = b"authorization: good\r\n"


class Wire:
    """The transport: what was written, and whether that was all."""

    def __init__(self) -> None:
        self.written = b""
        self.ended = self.closed = False

    def write(self, data: bytes) -> None:
        self.written += data

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closed = True

    abort = close


class Scene:
    """A server without a socket. `hold` makes answers wait until `go`."""

    def __init__(self, limits: HttpLimits, *, hold: bool) -> None:
        self.seen: list[tuple[bytes, int]] = []
        self.go = asyncio.Event()
        if not hold:
            self.go.set()
        self.server = HttpServer(
            self._app, limits, probe=_no_probe, admits=_is_good, refuse=_refuse, defect=self._defect
        )
        self.connection, self.wire = self.connect()

    def connect(self) -> tuple[ClientConnection, Wire]:
        """One more client."""
        connection, wire = ClientConnection(self.server), Wire()
        connection.connection_made(wire)  # type: ignore[arg-type]
        return connection, wire

    def feed(self, data: bytes, to: ClientConnection | None = None) -> None:
        """Bytes from the client, as many at once as are read from a socket."""
        connection = to or self.connection
        for at in range(0, len(data), 64 * KIB):
            block = data[at : at + 64 * KIB]
            self.server.buffer[: len(block)] = block
            connection.buffer_updated(len(block))

    @property
    def statuses(self) -> list[int]:
        """The status of every answer so far."""
        return [int(part[:3]) for part in self.wire.written.split(b"HTTP/1.1 ")[1:]]

    async def settle(self) -> None:
        """Let everything happen that can."""
        for _ in range(100):
            await asyncio.sleep(0)

    async def _app(self, exchange: HttpExchange) -> None:
        request = exchange.request
        self.seen.append((request.target, len(request.body)))
        await self.go.wait()
        exchange.respond(200 if _is_good(request) else 401, [], b"")

    def _defect(self, error: BaseException) -> None:
        raise error


def _no_probe(_exchange: HttpExchange) -> bool:
    return False


def _is_good(request: HttpRequest) -> bool:
    return request.headers.get(b"authorization") == b"good"


def _refuse(exchange: HttpExchange, status: int) -> None:
    exchange.respond(status, [], b"")


def playing(
    limits: HttpLimits | None = None, *, hold: bool = False
) -> Callable[[Callable[[Scene], Coroutine[Any, Any, None]]], Callable[[], None]]:
    """A test that is a scene."""

    def decorate(play: Callable[[Scene], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        async def run() -> None:
            await play(Scene(limits or HttpLimits(), hold=hold))

        def test() -> None:
            asyncio.run(run())

        test.__name__ = play.__name__
        return test

    return decorate


def post(
    body: bytes | int = b"{}", *lines: bytes, target: bytes = b"/x", key: bytes = GOOD
) -> bytes:
    """A request; of a body that is a number, only its length is announced."""
    length, data = (body, b"") if isinstance(body, int) else (len(body), body)
    head = b"POST %b HTTP/1.1\r\nhost: a\r\n%bcontent-length: %d\r\n" % (target, key, length)
    return head + b"".join(lines) + b"\r\n" + data


CHUNKED = b"POST /x HTTP/1.1\r\nhost: a\r\n" + GOOD + b"transfer-encoding: chunked\r\n\r\n"


# What is kept.


@pytest.mark.parametrize(
    "data",
    [b"", post()[:30], post(5000)[:-1] + b"x" * 1000, post(), post(key=b""), b"nonsense\r\n\r\n"],
    ids=["nothing", "half a head", "half a body", "a request", "a refused one", "nonsense"],
)
def test_nothing_is_left_of_a_connection_that_has_ended(data: bytes) -> None:
    async def play() -> None:
        scene = Scene(HttpLimits(), hold=False)
        connection, _ = scene.connect()
        scene.feed(data, connection)
        await scene.settle()
        connection.connection_lost(None)
        await scene.settle()
        left = weakref.ref(connection)
        del connection
        assert left() is None

    gc.disable()
    try:
        asyncio.run(play())
    finally:
        gc.enable()


@playing()
async def test_a_request_is_not_kept_until_the_next_one(scene: Scene) -> None:
    body = b"x" * MIB
    scene.feed(post(body))
    await scene.settle()
    assert scene.statuses == [200]
    assert scene.server.bodies.held == 0
    requests = [o for o in gc.get_objects() if type(o) is HttpRequest]
    assert [request for request in requests if request.body == body] == []


@playing(hold=True)
async def test_a_body_counts_until_its_answer_has_ended(scene: Scene) -> None:
    scene.feed(post(b"x" * MIB))
    assert scene.server.bodies.held == MIB
    scene.go.set()
    await scene.settle()
    assert scene.server.bodies.held == 0


@playing(hold=True)
async def test_a_client_that_leaves_gives_back_all_it_has_sent(scene: Scene) -> None:
    scene.feed(post(b"x" * MIB) + post(b"y" * 100 * KIB) + post(200 * KIB) + b"z" * 90 * KIB)
    assert scene.server.bodies.held == MIB + 190 * KIB
    scene.connection.connection_lost(None)
    await scene.settle()
    assert scene.server.bodies.held == 0


@playing()
async def test_a_body_in_tiny_chunks_is_not_kept_in_tiny_pieces(scene: Scene) -> None:
    scene.feed(CHUNKED + b"2\r\nab\r\n" * 10_000)
    assert len(scene.connection._body._pieces) <= 2
    scene.feed(b"0\r\n\r\n")
    await scene.settle()
    assert scene.seen == [(b"/x", 20_000)]


# The head is judged before the body.


@playing()
async def test_a_wrong_key_is_answered_before_the_body_has_come(scene: Scene) -> None:
    scene.feed(post(9 * MIB, key=b""))
    await scene.settle()
    assert scene.statuses == [401]
    assert b"connection: close" in scene.wire.written
    assert scene.wire.ended
    scene.feed(b"x" * MIB)
    await scene.settle()
    assert scene.statuses == [401]
    assert not scene.wire.closed


@playing()
async def test_a_wrong_key_is_not_told_to_go_on(scene: Scene) -> None:
    scene.feed(post(5, b"expect: 100-continue\r\n", key=b""))
    await scene.settle()
    assert scene.statuses == [401]


@playing()
async def test_a_wrong_key_with_all_of_its_body_may_try_again(scene: Scene) -> None:
    scene.feed(post(key=b""))
    await scene.settle()
    scene.feed(post())
    await scene.settle()
    assert scene.statuses == [401, 200]
    assert scene.seen == [(b"/x", 0), (b"/x", 2)]


@playing()
async def test_a_wrong_key_hides_what_the_limits_are(scene: Scene) -> None:
    scene.feed(post(99 * MIB, key=b""))
    await scene.settle()
    assert scene.statuses == [401]


# All bodies together.


@playing(HttpLimits(bodies_bytes=10 * MIB))
async def test_a_dripping_body_makes_way_for_one_that_comes_quickly(scene: Scene) -> None:
    scene.feed(post(9 * MIB) + b"x" * 8 * MIB)
    other, wire = scene.connect()
    scene.feed(post(b"y" * 9 * MIB), other)
    await scene.settle()
    assert scene.statuses == [503]
    assert scene.seen == [(b"/x", 9 * MIB)]
    assert wire.written.startswith(b"HTTP/1.1 200 ")


@playing(HttpLimits(bodies_bytes=10 * MIB), hold=True)
async def test_small_requests_are_taken_when_large_ones_are_not(scene: Scene) -> None:
    scene.feed(post(b"x" * 9 * MIB))
    large, wire = scene.connect()
    scene.feed(post(b"y" * 2 * MIB), large)
    assert wire.written.startswith(b"HTTP/1.1 503 ")
    small, _ = scene.connect()
    scene.feed(post(b"z" * 60 * KIB), small)
    await scene.settle()
    assert [size for _, size in scene.seen] == [9 * MIB, 60 * KIB]


# Requests before their turn.


@playing(hold=True)
async def test_after_sixteen_requests_in_line_the_connection_ends_with_their_answers(
    scene: Scene,
) -> None:
    scene.feed(b"".join(post(target=b"/%d" % number) for number in range(30)))
    scene.go.set()
    await scene.settle()
    assert scene.statuses == [200] * 17
    assert [target for target, _ in scene.seen] == [b"/%d" % number for number in range(17)]
    assert scene.wire.written.count(b"connection: close") == 1
    assert scene.wire.ended


@pytest.mark.parametrize("announced", [True, False])
def test_a_large_body_before_its_turn_is_not_read(announced: bool) -> None:
    async def play() -> None:
        scene = Scene(HttpLimits(), hold=True)
        large = b"x" * 9 * MIB
        scene.feed(post(target=b"/first") + post(b"y" * 500 * KIB, target=b"/second"))
        scene.feed(post(large) if announced else CHUNKED + b"%x\r\n%b\r\n" % (len(large), large))
        assert scene.server.bodies.held <= 2 * MIB
        scene.go.set()
        await scene.settle()
        assert [target for target, _ in scene.seen] == [b"/first", b"/second"]
        assert scene.wire.written.count(b"connection: close") == 1
        assert scene.wire.ended

    asyncio.run(play())


@playing()
async def test_nothing_is_answered_while_the_client_does_not_read_earlier_answers(
    scene: Scene,
) -> None:
    scene.feed(GET)
    await scene.settle()
    scene.connection.pause_writing()
    scene.feed(GET)
    deadline = scene.connection.deadline
    for _ in range(100):
        scene.server.clock += 1
        scene.feed(GET)
        await scene.settle()
    assert scene.statuses == [200]
    assert scene.connection.deadline == deadline > 0
    scene.connection.resume_writing()
    await scene.settle()
    assert scene.statuses == [200] * 17
    assert scene.wire.ended


@playing()
async def test_what_waits_for_a_reader_is_dropped_at_shutdown(scene: Scene) -> None:
    scene.connection.pause_writing()
    scene.feed(GET)
    await scene.settle()
    scene.connection.cancel()
    scene.connection.resume_writing()
    await scene.settle()
    assert scene.wire.closed
    assert not scene.seen


@playing(hold=True)
async def test_nonsense_behind_good_requests_is_refused_after_their_answers(scene: Scene) -> None:
    scene.feed(post() + post() + b"nonsense\r\n\r\n")
    assert scene.wire.written == b""
    scene.go.set()
    await scene.settle()
    assert scene.statuses == [200, 200, 400]
    assert scene.wire.ended


@playing(hold=True)
async def test_nobody_is_told_to_go_on_in_the_middle_of_another_answer(scene: Scene) -> None:
    scene.feed(post() + post(5, b"expect: 100-continue\r\n"))
    assert scene.wire.written == b""
    scene.go.set()
    await scene.settle()
    assert scene.statuses == [200]
    assert scene.wire.ended


@playing(hold=True)
async def test_a_request_that_began_before_its_turn_has_the_time_of_any_other(scene: Scene) -> None:
    scene.feed(post() + post(5000) + b"x")
    scene.server.clock += 100
    scene.go.set()
    await scene.settle()
    scene.feed(b"x" * 100)
    assert scene.connection.deadline > scene.server.clock + 5
    scene.feed(b"x" * 4899)
    await scene.settle()
    assert scene.statuses == [200, 200]


# Trailers.


@pytest.mark.parametrize(
    "trailer",
    [b"a: b\r\n" * 101, b"a: " + b"x" * 200 * KIB, b"a: %b\r\n" % (b"x" * 50 * KIB) * 4],
    ids=["many", "endless", "large"],
)
@pytest.mark.parametrize("body", [b"", b"5\r\nabcde\r\n"])
def test_trailers_count_as_headers(trailer: bytes, body: bytes) -> None:
    async def play() -> None:
        scene = Scene(HttpLimits(), hold=False)
        scene.feed(CHUNKED + body + b"0\r\n" + trailer)
        await scene.settle()
        assert scene.statuses == [431]
        assert scene.seen == []

    asyncio.run(play())


@playing()
async def test_an_endless_chunk_extension_is_refused(scene: Scene) -> None:
    scene.feed(CHUNKED + b"5;" + b"x" * 300 * KIB)
    assert scene.statuses == [431]
