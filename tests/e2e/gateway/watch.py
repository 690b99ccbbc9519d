"""Watches from outside how long a gateway makes innocent clients wait.

On a busy machine a wait may be the scheduler's fault. What counts is therefore the wait during
which the gateway itself was working: the smaller of the time that passed and the CPU it used.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.wire import chat_body, connected, request_bytes


class Watch:
    """Waits, measured one after the other."""

    def __init__(self, gateway: Gateway) -> None:
        self.count = 0
        self.worst = 0.0
        self.over = False
        self._gateway = gateway
        self._since = (0.0, 0.0)

    def begin(self) -> None:
        """A wait begins."""
        self._since = (time.monotonic(), self._gateway.cpu)

    def end(self) -> None:
        """It is over."""
        began, used = self._since
        self.count += 1
        self.worst = max(self.worst, min(time.monotonic() - began, self._gateway.cpu - used))


@contextmanager
def pinging(gateway: Gateway) -> Iterator[Watch]:
    """Ask for /healthz again and again while the block runs."""

    def ping(watch: Watch) -> None:
        connection = HTTPConnection("127.0.0.1", gateway.port, timeout=30)
        while not watch.over:
            watch.begin()
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
            watch.end()
            time.sleep(0.005)
        connection.close()

    with _running(ping, Watch(gateway)) as watch:
        yield watch


@contextmanager
def streaming(gateway: Gateway, model: str) -> Iterator[Watch]:
    """Read a stream, which is expected to say something all the time, while the block runs."""

    def read(watch: Watch) -> None:
        with connected(gateway.port, timeout=30) as sock:
            sock.sendall(request_bytes(chat_body(model=model, stream=True)))
            while not watch.over:
                watch.begin()
                assert sock.recv(65536)
                watch.end()

    with _running(read, Watch(gateway)) as watch:
        yield watch


@contextmanager
def _running(target: object, watch: Watch) -> Iterator[Watch]:
    thread = threading.Thread(target=target, args=(watch,))  # type: ignore[arg-type]
    thread.start()
    try:
        yield watch
    finally:
        time.sleep(0.05)
        watch.over = True
        thread.join()
