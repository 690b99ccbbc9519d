"""Requests begin in the order of arrival, a few per iteration of the loop, or are told soon."""

import asyncio

import pytest

from toolwire.server.http.request_queue import RequestQueue


class Request:
    """Notes what becomes of it."""

    def __init__(self, name: int, notes: list[tuple[str, int]], queue: "Queue") -> None:
        self.name, self.notes, self.queue = name, notes, queue

    def begin(self, weight: int) -> None:
        self.notes.append(("begin", self.name))
        self.queue.loop.call_soon(self.queue.begun, weight)  # as a task would

    def give_up(self) -> None:
        self.notes.append(("give up", self.name))


class Queue(RequestQueue[Request]):
    """A queue whose requests run in the next turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop, 5.0)
        self.loop = loop


class Loop(asyncio.SelectorEventLoop):
    """A loop whose clock the test sets."""

    now = 100.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def loop() -> "asyncio.AbstractEventLoop":
    loop = Loop()
    yield loop
    loop.close()


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """One turn of the loop."""
    loop.call_soon(loop.stop)
    loop.run_forever()


def test_a_rush_begins_in_order_over_several_turns(loop: Loop) -> None:
    notes: list[tuple[str, int]] = []
    queue = Queue(loop)
    for number in range(20):
        queue.put(Request(number, notes, queue), 100)
    counts = [len(notes)]
    while counts[-1] < 20:
        turn(loop)
        counts.append(len(notes))
    assert counts == [8, 16, 20]
    assert notes == [("begin", number) for number in range(20)]


def test_large_requests_begin_one_per_turn_and_nobody_overtakes(loop: Loop) -> None:
    notes: list[tuple[str, int]] = []
    queue = Queue(loop)
    for number, size in enumerate([1000, 80_000, 240_000, 1000, 9_000_000, 1000, 1000]):
        queue.put(Request(number, notes, queue), size)
    counts = [len(notes)]
    while counts[-1] < 7:
        turn(loop)
        counts.append(len(notes))
    assert counts == [2, 3, 4, 5, 7]
    assert notes == [("begin", number) for number in range(7)]


def test_whoever_waits_for_too_long_is_told(loop: Loop) -> None:
    notes: list[tuple[str, int]] = []
    queue = Queue(loop)
    for number in range(10):
        queue.put(Request(number, notes, queue), 100)
    loop.now += 5.1
    turn(loop)
    assert notes[8:] == [("give up", 8), ("give up", 9)]


def test_once_the_rush_lasts_only_short_waits_are_worth_it(loop: Loop) -> None:
    notes: list[tuple[str, int]] = []
    queue = Queue(loop)
    for number in range(30):
        queue.put(Request(number, notes, queue), 100)
    loop.now += 4.9
    turn(loop)  # 8 to 15 begin, after almost 5 s
    for number in range(30, 40):
        queue.put(Request(number, notes, queue), 100)
    loop.now += 0.6
    turn(loop)
    assert notes[16:] == [("give up", number) for number in range(16, 40)]


def test_a_queue_that_has_been_empty_is_a_new_one(loop: Loop) -> None:
    notes: list[tuple[str, int]] = []
    queue = Queue(loop)
    for number in range(9):
        queue.put(Request(number, notes, queue), 100)
    turn(loop)
    turn(loop)
    loop.now += 60
    for number in range(9, 18):
        queue.put(Request(number, notes, queue), 100)
    loop.now += 3
    turn(loop)
    assert notes == [("begin", number) for number in range(18)]
