"""A template that never ends costs its own model, and nobody else (R5)."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.gateway.contract import read
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask, chat_body, request_bytes
from tests.scripted import ScriptedServer
from tests.templates import path_of

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.fixture
def both(backend: ScriptedServer, tmp_path: Path) -> Iterator[Gateway]:
    """A Toolwire with a model whose template never ends, and another one."""
    (tmp_path / "endless.jinja").write_text(ENDLESS)
    routes = {"endless": tmp_path / "endless.jinja", "good": path_of("qwen25")}
    config = "".join(
        f'[[models]]\nname = "{name}"\nbackend = {{ url = "{backend.url}", '
        f'model = "scripted/qwen25", chat_template = "{template}" }}\n'
        for name, template in routes.items()
    )
    with running(config=config) as process:
        yield process
        assert "Traceback" not in process.log, process.log


def workers(gateway: Gateway) -> int:
    """How many processes for templates it has."""
    children = Path(f"/proc/{gateway.process.pid}/task").glob("*/children")
    return sum(len(child.read_text().split()) for child in children)


def wait_for_workers(gateway: Gateway, count: int) -> None:
    deadline = time.monotonic() + 5
    while workers(gateway) != count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_others_are_served_meanwhile_and_it_ends_when_the_client_leaves(
    both: Gateway, backend: ScriptedServer
) -> None:
    backend.use("only_completions", "echo")
    with socket.create_connection(("127.0.0.1", both.port)) as waiting:
        waiting.sendall(request_bytes(chat_body(model="endless")))
        wait_for_workers(both, 1)
        first = read(ask(both.port, chat_body(model="good")))
        began = time.monotonic()
        second = read(ask(both.port, chat_body(model="good")))
        assert time.monotonic() - began < 1
        assert first.content == second.content == "Hello"
        assert workers(both) == 2
    wait_for_workers(both, 1)
