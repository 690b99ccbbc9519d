"""Traces in memory: only while somebody looks, and no more than fit."""

from collections.abc import Iterator

import pytest

from toolwire.gateway.trace.records import TurnTrace
from toolwire.server.telemetry import trace_memory
from toolwire.server.telemetry.trace_memory import MOST_TRACES, WATCHED, MemoryTraces


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def traces(clock: Clock) -> Iterator[MemoryTraces]:
    made = MemoryTraces(bodies=True, redact=lambda text: text, clock=clock)
    yield made
    made.close()


def trace(number: int, body: bytes = b"{}") -> TurnTrace:
    return TurnTrace(f"req_{number}", body, 1.5)


def test_nobody_looks_so_nothing_is_traced(traces: MemoryTraces) -> None:
    assert not traces.tracing.on


def test_a_look_is_enough_for_a_while(traces: MemoryTraces, clock: Clock) -> None:
    traces.watch()
    clock.now += WATCHED - 1
    traces.keep(trace(1))
    assert traces.tracing.on
    clock.now += 2
    traces.keep(trace(2))
    assert not traces.tracing.on
    traces.watch()
    assert traces.tracing.on


def test_the_newest_come_first(traces: MemoryTraces) -> None:
    for number in range(5):
        traces.keep(trace(number))
    traces.close()
    assert traces.newest(3) == ["req_4", "req_3", "req_2"]
    assert traces.newest(9)[-1] == "req_0"
    assert b"req_4" in (traces.load("req_4") or b"")
    assert traces.load("req_5") is None


def test_the_oldest_make_room(traces: MemoryTraces) -> None:
    for number in range(MOST_TRACES + 7):
        traces._write(trace(number))
    assert len(traces.newest(10_000)) == MOST_TRACES
    assert traces.load("req_6") is None
    assert traces.load("req_7") is not None


def test_large_traces_are_fewer(traces: MemoryTraces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_memory, "MOST_BYTES", 10_000)
    for number in range(9):
        traces._write(trace(number, b'"' + b"x" * 4000 + b'"'))
    assert traces.newest(9) == ["req_8", "req_7"]
    traces._write(trace(10, b'"' + b"x" * 10_000 + b'"'))
    assert traces.newest(9) == ["req_8", "req_7"]
