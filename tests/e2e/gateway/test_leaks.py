"""After thousands of requests of every kind the process is as small as before (R13)."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import CALLS, TEXT, TOOLS
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.wire import ask, chat_body, connected, read_until, request_bytes
from tests.hard.figures import note
from tests.scripted import ScriptedServer

VARIANTS = {
    "ok": ("std", TEXT),
    "tool": ("std", CALLS),
    "busy": ("err429_retry7", TEXT),
    "cut": ("cut_in_call:always", CALLS),
    "slow": ("slow:20", [{"text": "some words " * 50}]),
}
WARM_UP = size(500, 10_000)
REQUESTS = size(2000, 50_000)
AT_ONCE = 8


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """A Toolwire with a model for each kind of trouble."""
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(ScriptedServer(variant, script))
            for name, (variant, script) in VARIANTS.items()
        }
        models = "".join(
            f'[[models]]\nname = "{name}"\nbackend = {{ url = "{server.url}" }}\n'
            for name, server in servers.items()
        )
        config = f"[retries]\nmax_retry_after = 0\nbackoff = 0\n{models}"
        with running(config=config) as process:
            yield process
            assert "Traceback" not in process.log


def chat(gateway: Gateway, model: str, *, stream: bool = True) -> None:
    """Ask, and read the answer whatever it is."""
    ask(gateway.port, chat_body(model=model, stream=stream, tools=TOOLS))


def leave(gateway: Gateway) -> None:
    """Ask, and leave in the middle of the answer."""
    with connected(gateway.port) as sock:
        sock.sendall(request_bytes(chat_body(model="slow", stream=True)))
        read_until(sock, b"words")


KINDS: list[Callable[[Gateway], None]] = [
    lambda gateway: chat(gateway, "ok"),
    lambda gateway: chat(gateway, "ok", stream=False),
    lambda gateway: chat(gateway, "tool"),
    lambda gateway: chat(gateway, "tool", stream=False),
    lambda gateway: chat(gateway, "busy"),
    lambda gateway: chat(gateway, "cut"),
    lambda gateway: chat(gateway, "nonsense"),
    leave,
]


def make_requests(gateway: Gateway, count: int) -> None:
    """So many requests of all kinds, several at a time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda number: KINDS[number % len(KINDS)](gateway), range(count)))
    time.sleep(0.3)


@pytest.mark.timeout(size(120, 1800))
def test_files_and_memory_return_to_about_where_they_were(gateway: Gateway) -> None:
    # The allocator settles within some thousand requests; a turn that is kept costs over 10 KiB.
    make_requests(gateway, WARM_UP)
    files, memory = gateway.files, gateway.memory
    make_requests(gateway, REQUESTS)
    grown = gateway.memory - memory
    note(f"{grown / 1024:+.1f} MB and {gateway.files - files:+d} files after {REQUESTS} requests")
    assert gateway.files <= files + AT_ONCE
    # In small, what the allocator still takes; in full, 1 MB for each 10,000 requests.
    assert grown <= size(REQUESTS * 3, REQUESTS // 10)
    metrics = ask(gateway.port, path="/metrics").body.decode()
    assert "toolwire_requests_in_flight 1.0" in metrics
