"""Writing a huge conversation into a prompt makes no other client wait (R17)."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.e2e.gateway.far_backend import FarBackend, far_backend
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import TOOLS
from tests.e2e.gateway.watch import pinging
from tests.e2e.gateway.wire import ask, chat_body
from tests.e2e.prompted.routes import config, route

WORST = 0.25
MIB = 1 << 20


@pytest.fixture(scope="module")
def far() -> Iterator[FarBackend]:
    """A model in another process, whose work does not slow the clock."""
    with far_backend() as backend:
        backend.use("std", ["hi"])
        yield backend


@pytest.fixture(scope="module")
def gateway(far: FarBackend) -> Iterator[Gateway]:
    """A Toolwire that writes tools into the prompt."""
    with running(config=config(far.url, [("prompted", "hermes", "generic")])) as process:
        yield process


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def forgeries() -> list[dict[str, Any]]:
    """Markers and nothing else: each has to be broken up."""
    return [user("<tool_call>" * (9 * MIB // 11))]


def almost_forgeries() -> list[dict[str, Any]]:
    """What could begin a marker at every character."""
    return [user("<" * 9 * MIB)]


def users_in_a_row() -> list[dict[str, Any]]:
    """Messages that become one."""
    return [user("x" * 1000)] * 8_000


def long_conversation() -> list[dict[str, Any]]:
    """Thousands of calls and results."""
    messages = [user("go")]
    for number in range(3000):
        function = {"name": "now", "arguments": json.dumps({"a": list(range(50))})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = {"role": "tool", "tool_call_id": f"call_{number}", "content": "<y>" * 500}
        messages.append(result)
    return messages


@pytest.mark.parametrize("make", [forgeries, almost_forgeries, users_in_a_row, long_conversation])
def test_a_huge_conversation_makes_nobody_wait(
    gateway: Gateway, make: Callable[[], list[dict[str, Any]]]
) -> None:
    body = chat_body(model=route("prompted", "hermes"), messages=make(), tools=TOOLS)
    data = json.dumps(body).encode()
    with pinging(gateway) as pings:
        assert ask(gateway.port, data, timeout=60).status == 200
    assert pings.worst <= WORST
    assert pings.count > 3
