"""Answers the requests of one connection, in the order in which they came.

A pipelined request waits for the answers before its own, and until the client reads them: the
answers of a client that never reads would fill the memory. All of it is freed when the answer or
the connection ends, not when the garbage collector runs.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from toolwire.server.http.bodies import SMALL
from toolwire.server.http.exchange import HttpExchange
from toolwire.surfaces.exchange import HttpRequest

if TYPE_CHECKING:
    from toolwire.server.http.connection import ClientConnection
    from toolwire.server.http.server import HttpServer

_MAX_WAITING = 16
_MAX_AHEAD = 1 << 20
"""Bytes of pipelined bodies that are read ahead on one connection."""


class Refusal(NamedTuple):
    """A request that cannot be read any further. Its target may be unknown."""

    status: int
    target: bytes


class Pipeline:
    """The requests of one connection that were read and are not answered yet."""

    __slots__ = ("_beginning", "_connection", "_server", "_task", "_waiting", "exchange", "surplus")

    def __init__(self, connection: "ClientConnection", server: "HttpServer") -> None:
        self.exchange: HttpExchange | None = None
        """The request that is being answered, or is queued, and its answer."""
        self.surplus = False
        """Whether there are too many connections, so that only health probes are answered."""
        self._connection: ClientConnection | None = connection
        self._server = server
        self._waiting: deque[HttpRequest | Refusal] = deque()
        """Requests to answer next. A refusal at the end is for what followed them."""
        self._task: asyncio.Task[None] | None = None
        self._beginning = 0
        """The weight of a request whose task has not begun."""

    @property
    def busy(self) -> bool:
        """Whether a request is being answered, or waits for its turn."""
        return self.exchange is not None or bool(self._waiting)

    def accept(self, request: HttpRequest) -> bool:
        """Answer a request now, or after those before it. Return whether no more may be read."""
        connection = self._connection
        if connection is not None and not (self.busy or connection.paused):
            self._answer(request, connection)
            return False
        self._add(request)
        full = len(self._waiting) >= _MAX_WAITING
        if full:
            request.keep_alive = False
        return full

    def refuse(self, refusal: Refusal) -> None:
        """Refuse what followed the accepted requests, after they are answered."""
        self._add(refusal)

    def _add(self, following: "HttpRequest | Refusal") -> None:
        first = not self.busy
        self._waiting.append(following)
        if first:
            self.go_on()

    def room(self, most: int) -> int:
        """Return the size limit of the next body: less than `most` for a pipelined request."""
        if not self._waiting and (self.exchange is None or self.exchange.ended):
            return most
        ahead = sum(len(r.body) for r in self._waiting if isinstance(r, HttpRequest))
        return max(0, min(most - 1, _MAX_AHEAD - ahead))

    def close_at_end(self) -> None:
        """Close the connection after the last accepted request."""
        if self._waiting and isinstance(last := self._waiting[-1], HttpRequest):
            last.keep_alive = False
        elif self.exchange is not None:
            self.exchange.request.keep_alive = False

    def cancel(self) -> bool:
        """Cancel the current answer, which can still report the reason. Return False if there is
        none."""
        if self._task is not None:
            self._stop(self._task)
        elif self.exchange is not None:
            self.give_up()
        else:
            self._drop_waiting()
            return False
        return True

    def lost(self) -> None:
        """Drop everything: the client has disconnected."""
        self._connection = None  # it references this pipeline: avoid a cycle
        self._drop_waiting()
        if self._task is not None:
            self._stop(self._task)
        elif self.exchange is not None:
            self._release(self.exchange.request)
            self.exchange = None

    def begin(self, weight: int) -> None:
        """See `QueuedRequest.begin`."""
        if self.exchange is None:  # the client has disconnected
            self._server.queue.begun(weight)
            return
        self._beginning = weight
        self._task = self._server.loop.create_task(self._serve(self.exchange))

    def give_up(self) -> None:
        """See `QueuedRequest.give_up`."""
        if self.exchange is not None:
            self._server.refuse(self.exchange, 503)
            self._over()

    def _answer(self, request: HttpRequest, connection: "ClientConnection") -> None:
        connection.deadline = 0.0
        if self.surplus:
            request.keep_alive = False
        exchange = self.exchange = HttpExchange(connection, request)
        if self._server.probe(exchange):
            self._over()
            return
        if self.surplus:
            self._server.refuse(exchange, 503)
            self._over()
            return
        self._server.queue.put(self, len(request.body))

    def _say(self, refusal: Refusal) -> None:
        if self._connection is not None:
            request = HttpRequest(method="POST", target=refusal.target, keep_alive=False)
            self._server.refuse(HttpExchange(self._connection, request), refusal.status)
            self._connection.finish()

    async def _serve(self, exchange: HttpExchange) -> None:
        """Answer a request. The next one begins right away, without a callback of the task."""
        try:
            self._begun()
            await self._server.app(exchange)
        except Exception as error:  # noqa: BLE001 - the last resort
            self._server.defect(error)
        finally:
            self._end()

    def _stop(self, task: "asyncio.Task[None]") -> None:
        task.add_done_callback(lambda _task: self._end())  # it may not have begun
        task.cancel()

    def _begun(self) -> None:
        weight, self._beginning = self._beginning, 0
        if weight:
            self._server.queue.begun(weight)

    def _end(self) -> None:
        self._begun()  # the task may have been cancelled before it began
        self._task = None
        self._over()

    def _over(self) -> None:
        """Continue after an answer is complete or abandoned."""
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        self._release(exchange.request)
        if self._connection is None:
            return
        if not exchange.ended or not exchange.request.keep_alive or self._server.draining:
            self._drop_waiting()
            self._connection.finish()
        elif self._waiting:
            self.go_on()
        else:
            self._connection.wait()

    def go_on(self) -> None:
        """Answer the next request, unless the client does not read the answers before it."""
        if self._connection is None or not self._waiting:
            return
        if self._connection.paused:
            self._connection.expect_reader()
        elif isinstance(following := self._waiting.popleft(), HttpRequest):
            self._answer(following, self._connection)
        else:
            self._say(following)

    def _drop_waiting(self) -> None:
        while self._waiting:
            self._release(self._waiting.popleft())

    def _release(self, request: "HttpRequest | Refusal") -> None:
        """Release the body of a finished request, even if the request is still referenced."""
        if isinstance(request, HttpRequest):
            if len(request.body) > SMALL:
                self._server.bodies.give(len(request.body))
            request.body = b""
