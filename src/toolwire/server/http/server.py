"""The HTTP server: limits the number and the lifetime of connections.

One sweep per second enforces the deadlines of all connections; the clock is read only then, so
setting a deadline costs an addition, and it is exact to within two seconds. The bodies of all
connections share a budget. Why this is not an existing server: docs/adr/0003-http-stack.md.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from toolwire.server.http.bodies import BodyBudget
from toolwire.server.http.connection import ClientConnection
from toolwire.server.http.exchange import HttpExchange
from toolwire.server.http.limits import HttpLimits
from toolwire.server.http.listener import Listener
from toolwire.server.http.pipeline import Pipeline
from toolwire.server.http.request_queue import RequestQueue
from toolwire.server.process.memory import MemoryKeeper
from toolwire.surfaces.exchange import HttpRequest

_BLOCK = 64 * 1024
_SWEEP = 1.0
_STALL_SECONDS = 2.0
"""Seconds for which a client may stall within a request before it can be evicted."""
_CALM = 4
"""Requests in progress that do not keep memory from being returned thoroughly."""
_SURPLUS = 64
"""Connections beyond the limit that are still read: one may be a health probe."""

HttpApp: TypeAlias = Callable[[HttpExchange], Coroutine[Any, Any, None]]


class HttpServer:
    """Listens, and hands each request to the app.

    `probe` answers health probes immediately, regardless of load. `refuse` answers invalid
    requests, and those beyond the limits.
    """

    def __init__(
        self,
        app: HttpApp,
        limits: HttpLimits,
        *,
        probe: Callable[[HttpExchange], bool],
        admits: Callable[[HttpRequest], bool],
        refuse: Callable[[HttpExchange, int], None],
        defect: Callable[[BaseException], None],
    ) -> None:
        """`admits` decides by a request's head whether to read its body before the app answers."""
        self.app = app
        self.limits = limits
        self.probe = probe
        self.bodies = BodyBudget(max(limits.bodies_bytes, limits.body_bytes))
        self.admits = admits
        self.refuse = refuse
        self.defect = defect
        self.buffer = memoryview(bytearray(_BLOCK))
        """The buffer of all connections, which is shared because each read is used immediately."""
        self.connections: set[ClientConnection] = set()
        self.waiting: dict[ClientConnection, None] = {}
        """Connections that can be closed: without a request, or refused. Idlest first."""
        self.draining = False
        self.loop = asyncio.get_running_loop()
        self.clock = self.loop.time() + _SWEEP
        """The latest time of the next sweep, from which deadlines are counted."""
        self.queue: RequestQueue[Pipeline] = RequestQueue(self.loop, limits.queue_seconds)
        """The queue of new requests."""
        self._stalled_at = 0.0
        self._listener = Listener(lambda: ClientConnection(self), self._make_room)
        self._finishing: set[ClientConnection] = set()
        self._finished = asyncio.Event()
        self._sweeper: asyncio.TimerHandle | None = None
        self._memory = MemoryKeeper()

    # Connections.

    def came(self, connection: ClientConnection) -> bool:
        """Register a connection. Return whether there is room, if necessary by evicting another."""
        if len(self.connections) >= self.limits.connections:
            self._make_room()
        self.connections.add(connection)
        self.waiting[connection] = None
        return len(self.connections) <= self.limits.connections

    @property
    def full(self) -> bool:
        """Whether there are more connections than are read beyond the limit."""
        return len(self.connections) > self.limits.connections + _SURPLUS

    def left(self, connection: ClientConnection) -> None:
        """Unregister a closed connection."""
        self.connections.discard(connection)
        self.waiting.pop(connection, None)
        self._finishing.discard(connection)
        if not self._finishing:
            self._finished.set()

    def _make_room(self) -> bool:
        """Close the idlest connection. Return False if all are in use."""
        idlest = next(iter(self.waiting), None) or self._most_stalled()
        if idlest is None:
            return False
        self.waiting.pop(idlest, None)
        self.connections.discard(idlest)
        idlest.evict()
        return True

    def _most_stalled(self) -> ClientConnection | None:
        """Return the connection that has stalled for longest. A vain search is not repeated."""
        if self._stalled_at == self.clock:
            return None  # none had stalled, and the clock does not advance before the next sweep
        found = max(self.connections, key=lambda c: c.silent, default=None)
        if found is not None and found.silent >= _STALL_SECONDS:
            return found
        self._stalled_at = self.clock
        return None

    # Start and shutdown.

    async def open(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> int:
        """Start listening. Return the port, which the system chose if it was 0."""
        seconds = self.limits.header_seconds
        port = await self._listener.open(host, port, tls=tls, handshake_seconds=seconds)
        self._sweep()
        return port

    async def aclose(self, grace: float) -> None:
        """Let answers finish for `grace` seconds, then cancel them. Until then the server listens:
        it answers health probes, and refuses other requests because of the shutdown."""
        self.draining = True
        for connection in list(self.connections):
            if not connection.busy:
                connection.cancel()
        await self._finish(grace)
        self._listener.close()
        for connection in list(self.connections):
            connection.cancel()
        await self._finish(2.0)
        if self._sweeper is not None:
            self._sweeper.cancel()

    async def _finish(self, seconds: float) -> None:
        """Wait until all current connections are closed."""
        self._finishing = set(self.connections)
        if self._finishing:
            self._finished.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._finished.wait(), seconds)

    def _sweep(self) -> None:
        now = self.loop.time()
        self.clock = now + _SWEEP
        for connection in [c for c in self.connections if 0.0 < c.deadline < now]:
            connection.overdue()
        self._memory.tidy(calm=len(self.connections) - len(self.waiting) <= _CALM)
        self._sweeper = self.loop.call_later(_SWEEP, self._sweep)
