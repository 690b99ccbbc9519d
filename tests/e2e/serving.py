"""A real `toolwire serve` process, as a user starts it."""

import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

READY_WITHIN = 20.0
STOPPED_WITHIN = 5.0


@contextmanager
def serving(upstream: str, *flags: str) -> Iterator[str]:
    """Serve an upstream until the block ends; gives the base URL for a client."""
    port = _free_port()
    flags = ("--upstream", upstream, "--host", "127.0.0.1", "--port", str(port), *flags)
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "toolwire", "serve", *flags],
            cwd=folder,  # away from any toolwire.toml of whoever runs the tests
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_ready(process, f"http://127.0.0.1:{port}/healthz", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: IO[bytes]) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except urllib.error.URLError:
            time.sleep(0.05)
    log.seek(0)
    raise RuntimeError(f"toolwire did not become ready:\n{log.read().decode(errors='replace')}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOPPED_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
