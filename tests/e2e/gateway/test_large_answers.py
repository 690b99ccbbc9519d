"""An answer of a backend that does not end is given up, and its memory given back (R17, R23)."""

import json
from collections.abc import Iterator

import pytest
from tests.e2e.gateway.far_backend import FarBackend, far_backend
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask, chat_body

CONFIG = """
[limits]
answer_bytes = 1048576

[[models]]
name = "wild"
backend = {{ url = "{url}" }}
"""


@pytest.fixture(scope="module")
def wild() -> Iterator[FarBackend]:
    with far_backend() as backend:
        yield backend


@pytest.fixture(scope="module")
def gateway(wild: FarBackend) -> Iterator[Gateway]:
    with running(config=CONFIG.format(url=wild.url)) as process:
        yield process


def test_a_body_that_is_collected_from_a_stream(gateway: Gateway, wild: FarBackend) -> None:
    wild.use("stream_force+flood:40000+joined_events", ["hi there"])
    answer = ask(gateway.port, chat_body(model="wild"), timeout=60)
    assert answer.status == 502
    assert "larger than 1048576 bytes (limits.answer_bytes)" in answer.json["error"]["message"]


def test_a_stream_ends_with_an_error(gateway: Gateway, wild: FarBackend) -> None:
    wild.use("flood:40000+joined_events", ["hi there"])
    answer = ask(gateway.port, chat_body(model="wild", stream=True), timeout=60)
    *_, last = [line for line in answer.body.split(b"\n") if line.startswith(b"data: ")]
    assert "limits.answer_bytes" in json.loads(last[6:])["error"]["message"]


def test_it_is_not_asked_for_again(gateway: Gateway, wild: FarBackend) -> None:
    wild.use("stream_force+flood:40000+joined_events", ["hi there"])
    before = len(wild.requests)
    ask(gateway.port, chat_body(model="wild"), timeout=60)
    assert len(wild.requests) == before + 1


def test_others_are_answered(gateway: Gateway, wild: FarBackend) -> None:
    wild.use("std", ["hi"])
    assert ask(gateway.port, chat_body(model="wild")).status == 200
