"""HTTP from a client: bytes into a connection without a socket.

The laws: nothing is raised, inside or outside; each request that reaches the app is whole and
within its limits; cutting the bytes changes no request, it may only end the reading earlier or
later (what may wait in the pipe depends on what is answered meanwhile); what goes out is HTTP with
a status of ours, and a refusal is the last of it.
"""

import asyncio
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from tests.fuzz.cutting import each, pieces
from tests.fuzz.judge import check

from toolwire.server.http.connection import ClientConnection
from toolwire.server.http.exchange import HttpExchange
from toolwire.server.http.limits import HttpLimits
from toolwire.server.http.server import HttpServer

LIMITS = HttpLimits(header_bytes=1024, headers=20, body_bytes=4096)
STATUSES = {100, 200, 400, 408, 411, 413, 414, 417, 421, 431, 501, 503, 505}
_TURNS = 40
"""Of the loop: more than the answers that may wait in the pipe need."""
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class _Transport(asyncio.Transport):
    """Keeps what is written. Closing takes effect at once."""

    def __init__(self, connection: ClientConnection) -> None:
        super().__init__()
        self.written = b""
        self._connection = connection
        self._open = True

    def write(self, data: Any) -> None:
        check(self._open, "nothing is written to a closed connection")
        self.written += bytes(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """What still comes is thrown away."""

    def is_closing(self) -> bool:
        return not self._open

    def close(self) -> None:
        if self._open:
            self._open = False
            self._connection.connection_lost(None)

    def abort(self) -> None:
        self.close()

    def pause_reading(self) -> None:
        """Everything is here already."""

    def resume_reading(self) -> None:
        """Everything is here already."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default


class _Seen:
    def __init__(self) -> None:
        self.requests: list[tuple[object, ...]] = []
        self.defects: list[BaseException] = []
        self.refused = 0

    async def app(self, exchange: HttpExchange) -> None:
        request = exchange.request
        check(len(request.body) <= LIMITS.body_bytes, "no body is over the limit")
        check(len(request.headers) <= LIMITS.headers, "no more headers than allowed")
        self.requests.append(
            (request.method, request.target, tuple(sorted(request.headers.items())), request.body)
        )
        exchange.respond(200, [], b"ok")

    def refuse(self, exchange: HttpExchange, status: int, *_: object, **__: object) -> None:
        self.refused = status
        exchange.respond(status, [], b"no")


async def _read(blocks: Iterable[bytes]) -> tuple[_Seen, bytes]:
    seen = _Seen()
    server = HttpServer(
        seen.app,
        LIMITS,
        probe=lambda _: False,
        admits=lambda _: True,
        refuse=seen.refuse,
        defect=seen.defects.append,
    )
    connection = ClientConnection(server)
    transport = _Transport(connection)
    connection.connection_made(transport)
    for block in blocks:
        for at in range(0, len(block), 4096):
            if transport.is_closing():
                break
            part = block[at : at + 4096]
            connection.get_buffer(-1)[: len(part)] = part
            connection.buffer_updated(len(part))
        if len(block) > 1:
            await asyncio.sleep(0)
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    transport.close()
    await asyncio.sleep(0)
    return seen, transport.written


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def run(data: bytes) -> object:
    """Read the bytes whole, in a few pieces, and one by one."""
    ways = [[data], pieces(data), *([each(data)] if len(data) < 200 else [])]
    outcomes = [_loop().run_until_complete(_read(blocks)) for blocks in ways]
    for seen, written in outcomes:
        if seen.defects:
            raise seen.defects[0]
        statuses = [int(status) for status in _STATUS.findall(written)]
        check(STATUSES.issuperset(statuses), f"a status is one of ours: {statuses}")
        final = [status for status in statuses if status != 100]
        check(final.count(200) <= len(seen.requests), "no answer without a request")
        check(all(s == 200 for s in final[:-1]), f"a refusal is the last answer: {final}")
    requests = [seen.requests for seen, _ in outcomes]
    for other in requests[1:]:
        shared = min(len(requests[0]), len(other))
        check(other[:shared] == requests[0][:shared], "cutting changes no request")
    return outcomes[0][0].refused, len(requests[0]), outcomes[0][1][9:12]
