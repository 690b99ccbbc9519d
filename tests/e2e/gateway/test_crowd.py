"""However many streams and connections there are, a new client is noticed (R18, R27)."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.e2e.gateway.crowd import crowd
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.wire import (
    ask,
    chat_body,
    connected,
    read_until,
    request_bytes,
    statuses,
)

STREAMS = size(60, 1000)
PROBES = size(30, 60)
ROOM = 20
"""For requests beside the streams."""
WORST = 0.25
CONFIG = f"""
[limits]
requests = {STREAMS + ROOM}

[timeouts]
queue = 120
"""


@pytest.fixture(scope="module")
def busy() -> Iterator[Gateway]:
    """A Toolwire whose streams all have more to say than it can pass on."""
    with crowd() as loud, running("--upstream", loud.url, config=CONFIG) as gateway:
        loud.listen(gateway.port, STREAMS)
        yield gateway
        assert "Traceback" not in gateway.log, gateway.log


def probe(gateway: Gateway) -> float:
    """For how long a health probe on a new connection kept the gateway working."""
    began, used = time.monotonic(), gateway.cpu
    reply = ask(gateway.port, path="/healthz", timeout=120)
    assert reply.status == 200
    return min(time.monotonic() - began, gateway.cpu - used)


def test_one_health_probe_after_the_other_is_answered_soon(busy: Gateway) -> None:
    assert max(probe(busy) for _ in range(10)) < WORST


def test_many_health_probes_at_once_are_answered_soon(busy: Gateway) -> None:
    with ThreadPoolExecutor(PROBES) as pool:
        waits = list(pool.map(lambda _: probe(busy), range(PROBES)))
    assert max(waits) < WORST


def test_of_twice_as_many_requests_as_fit_the_rest_is_told_to_come_back(busy: Gateway) -> None:
    with ExitStack() as stack:
        socks = [stack.enter_context(connected(busy.port, 60)) for _ in range(2 * ROOM)]
        for sock in socks:
            sock.sendall(request_bytes(chat_body(stream=True), "connection: close"))
        heads = [read_until(sock, b"\r\n\r\n") for sock in socks]
        assert probe(busy) < WORST
    assert sorted(statuses(b"".join(heads))) == [200] * ROOM + [503] * ROOM
    refused = [head for head in heads if statuses(head) == [503]]
    assert all(b"retry-after: 1\r\n" in head for head in refused)
