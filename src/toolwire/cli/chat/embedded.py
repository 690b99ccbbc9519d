"""Starts a gateway with the embedded model for the time of a chat.

It is a process of its own (`embedded_process`): Ctrl-C ends a turn of the chat, and must not end
the model.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import click

_LISTENS = re.compile(r"listens on (https?://\S+)")
_KEPT = ("TOOLWIRE_CACHE", "TOOLWIRE_GGUF", "TOOLWIRE_CTX", "TOOLWIRE_THREADS")
_END_SECONDS = 5.0


def is_listening(url: str) -> bool:
    """Whether anything listens there."""
    place = urlsplit(url)
    try:
        socket.create_connection((place.hostname or "", place.port or 80), timeout=1).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def embedded_server() -> Iterator[str]:
    """The base URL of a gateway with the embedded model, while the block lasts."""
    with tempfile.TemporaryDirectory() as folder, _started(Path(folder)) as process:
        try:
            yield f"{_address(process)}/v1"
        finally:
            _stop(process)


def _started(folder: Path) -> "subprocess.Popen[str]":
    config = folder / "toolwire.toml"
    config.touch()
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TOOLWIRE_") or name in _KEPT
    }
    flags = ["serve", "--port", "0", "--log-level", "error", "-c", str(config)]
    return subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "toolwire.cli.chat.embedded_process", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        text=True,
        process_group=0,
    )


def _address(process: "subprocess.Popen[str]") -> str:
    try:
        for line in process.stdout or ():
            if found := _LISTENS.search(line):
                return found[1]
    except KeyboardInterrupt:
        _stop(process)
        raise
    raise click.ClickException(
        "there is no server, and the embedded model could not be started. "
        "Name a server with --base-url."
    )


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
