"""The listening sockets: accepts connections in batches and creates their transports.

The loop's own server accepts one connection per iteration. With hundreds of streams an iteration
takes tens of milliseconds, so sixty new connections would wait for seconds.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Any

_log = logging.getLogger("toolwire.server")

_BACKLOG = 1024
_BATCH = 64
"""Connections accepted per loop iteration, so that a flood does not delay streams."""
_HANDSHAKES = 512
"""The most concurrent TLS handshakes; the oldest is dropped for a new one. Until its handshake is
complete, a client does not count towards the limit of connections."""
_PAUSE = 0.2
"""Seconds to stop accepting after the process has run out of file descriptors."""
_SAY_AGAIN = 60.0
_NO_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""Errors of one address that are ignored if another works, such as `::1` without IPv6."""
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Listener:
    """Accepts connections until it is closed.

    `make_room` is called without free file descriptors. It closes a connection, or returns False.
    """

    def __init__(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], make_room: Callable[[], bool]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._make_protocol = make_protocol
        self._make_room = make_room
        self._sockets: list[socket.socket] = []
        self._tls: ssl.SSLContext | None = None
        self._handshake_seconds: float | None = None
        self._opening: dict[asyncio.Task[object], None] = {}
        self._said = -_SAY_AGAIN
        self._pause: asyncio.TimerHandle | None = None

    async def open(
        self, host: str, port: int, *, tls: ssl.SSLContext | None, handshake_seconds: float
    ) -> int:
        """Listen on every address of `host`. Return the port, which the system may have chosen."""
        self._tls = tls
        self._handshake_seconds = handshake_seconds if tls is not None else None
        self._sockets = await _listening(self._loop, host, port)
        self._watch()
        return int(self._sockets[0].getsockname()[1])

    def close(self) -> None:
        """Stop listening. Existing connections stay open."""
        if self._pause is not None:
            self._pause.cancel()
        for task in list(self._opening):
            task.cancel()
        for sock in self._sockets:
            self._loop.remove_reader(sock)
            sock.close()
        self._sockets = []

    def _watch(self) -> None:
        self._pause = None
        for sock in self._sockets:
            self._loop.add_reader(sock, self._accept, sock)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_BATCH):
            try:
                sock, _address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_FILES:
                    raise
                self._wait_for_files(error)
                return
            self._begin(sock)

    def _begin(self, sock: socket.socket) -> None:
        sock.setblocking(False)  # noqa: FBT003
        if len(self._opening) >= _HANDSHAKES:
            oldest = next(iter(self._opening))
            del self._opening[oldest]
            oldest.cancel()
        task = self._loop.create_task(self._transport(sock))
        self._opening[task] = None
        task.add_done_callback(self._begun)

    async def _transport(self, sock: socket.socket) -> object:
        try:
            return await self._loop.connect_accepted_socket(
                self._make_protocol,
                sock,
                ssl=self._tls,
                ssl_handshake_timeout=self._handshake_seconds,
            )
        except OSError:  # the client disconnected, or does not speak TLS
            sock.close()
            return None

    def _begun(self, task: "asyncio.Task[object]") -> None:
        self._opening.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a connection could not be opened", exc_info=error)

    def _wait_for_files(self, error: OSError) -> None:
        """Stop accepting for a moment: the loop would immediately call us again, in vain."""
        for sock in self._sockets:
            self._loop.remove_reader(sock)
        for _ in range(_BATCH):
            if not self._make_room():
                break
        self._pause = self._loop.call_later(_PAUSE, self._watch)
        now = self._loop.time()
        if now - self._said >= _SAY_AGAIN:
            self._said = now
            _log.warning(
                "cannot accept connections: %s. Raise the limit of open files (ulimit -n), or "
                "lower limits.connections",
                error.strerror,
            )


async def _listening(loop: asyncio.AbstractEventLoop, host: str, port: int) -> list[socket.socket]:
    """Return a listening socket per address of the host. Raises `OSError` if there is none."""
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            # All addresses use the port that the system chose for the first.
            chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
            try:
                sockets.append(_bound(family, (address[0], chosen, *address[2:])))
            except OSError as error:
                if error.errno not in _NO_ADDRESS:
                    raise
                missing = error
        if not sockets:
            raise missing or OSError(errno.EADDRNOTAVAIL, f"{host} has no address")
    except OSError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def _bound(family: int, address: tuple[Any, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setblocking(False)  # noqa: FBT003
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock
