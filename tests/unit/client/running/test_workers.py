"""Threads that are stopped, whatever they do about it."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolwire.client.events import Call
from toolwire.client.running.executor import ThreadExecutor
from toolwire.client.running.loop import Job
from toolwire.client.running.workers import (
    CallOutcome,
    CallStopped,
    LoopThread,
    ThreadWork,
    attempt,
)
from toolwire.client.tools.tool import tool


def started(work: Callable[[], Any]) -> tuple[ThreadWork, list[CallOutcome], threading.Thread]:
    done: list[CallOutcome] = []
    one = ThreadWork(work, done.append, "test")
    one.start()
    return one, done, one._thread


def test_work_that_is_stopped_has_no_outcome() -> None:
    begun = threading.Event()

    def spin() -> None:
        begun.set()
        while True:
            time.sleep(0.001)

    one, done, thread = started(spin)
    begun.wait(5)
    one.stop()
    one.stop()
    thread.join(5)
    assert (thread.is_alive(), done) == (False, [])


def test_work_that_swallows_its_stop_ends_without_an_outcome() -> None:
    begun = threading.Event()

    def stubborn() -> str:
        try:
            begun.set()
            while True:
                time.sleep(0.001)
        except CallStopped:
            return "I go on"

    one, done, thread = started(stubborn)
    begun.wait(5)
    one.stop()
    thread.join(5)
    assert (thread.is_alive(), done) == (False, [])


def test_work_that_is_stopped_before_it_begins_never_begins() -> None:
    begun: list[int] = []
    one = ThreadWork(lambda: begun.append(1), begun.append, "test")  # type: ignore[arg-type]
    one.stop()
    one.start()
    one._thread.join(5)
    assert begun == []


def test_stopping_at_the_end_disturbs_nothing() -> None:
    for _ in range(300):
        one, done, thread = started(lambda: 1)
        one.stop()
        thread.join(5)
        assert not thread.is_alive()
        assert len(done) <= 1


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), KeyboardInterrupt()])
def test_whatever_a_tool_raises_is_its_outcome(error: BaseException) -> None:
    def fail() -> None:
        raise error

    assert attempt(fail).error is error


def run_one(function: Any) -> str:
    job = Job(Call("call_1", "f", {}), tool(function, name="f"), seconds=20)
    executor = ThreadExecutor(1000, 4)
    try:
        ((_, result),) = executor.run([job])
    finally:
        executor.close()
    return result.text


def test_an_async_tool_that_cancels_itself_has_an_error() -> None:
    async def give_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    assert run_one(give_up).startswith("Error: CancelledError")


def test_an_async_tool_that_raises_has_an_error() -> None:
    async def fail() -> None:
        raise LookupError("nowhere")

    assert run_one(fail) == "Error: LookupError: nowhere"


def test_a_loop_in_a_thread_cancels_what_runs_when_it_is_closed() -> None:
    seen = []

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("over")

    loop = LoopThread()
    loop.submit(wait())
    loop.run(asyncio.sleep(0.01))
    loop.close()
    loop.close()
    assert seen == ["over"]
