"""Runs the calls of a turn concurrently, in threads or tasks, each with a timeout."""

import asyncio
import inspect
import queue
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from toolwire.client.running.loop import Job
from toolwire.client.running.results import CallResult, error_of, raised, result_of
from toolwire.client.running.workers import (
    CallOutcome,
    LoopThread,
    ThreadWork,
    attempt_async,
)

Finished = tuple[int, CallResult]


class ThreadExecutor:
    """Runs jobs for a sync program: sync tools in threads, async ones in one loop in a thread."""

    def __init__(self, limit: int, concurrency: int) -> None:
        self._limit = limit
        self._concurrency = concurrency
        self._loop: LoopThread | None = None
        self._lock = threading.Lock()

    def run(self, jobs: Sequence[Job]) -> Iterator[Finished]:
        """Each job's place and result, as they finish. Closed early, it stops what still runs."""
        done: queue.SimpleQueue[tuple[int, CallOutcome]] = queue.SimpleQueue()
        waiting = list(enumerate(jobs))[::-1]
        running: dict[int, tuple[Any, float]] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self._concurrency:
                    at, job = waiting.pop()
                    work = self._work(at, job, done)
                    # Registered before it starts: Ctrl-C may come at any moment.
                    running[at] = (work, time.monotonic())
                    work.start()
                yield from self._collect(jobs, running, done)
        finally:
            for work, _ in running.values():
                work.stop()

    def close(self) -> None:
        """Stop the event loop, if there is one."""
        if self._loop is not None:
            self._loop.close()

    def _work(self, at: int, job: Job, done: Any) -> "ThreadWork | _LoopWork":
        call = job.runnable.bind(job.arguments)
        if job.runnable.is_async:
            return _LoopWork(self._event_loop(), call, lambda outcome: done.put((at, outcome)))
        return ThreadWork(
            lambda: self.awaited(call()), lambda outcome: done.put((at, outcome)), job.call.name
        )

    def awaited(self, value: Any) -> Any:
        """Return the value, awaited if it is awaitable."""
        return self._event_loop().run(_awaited(value)) if inspect.isawaitable(value) else value

    def _event_loop(self) -> LoopThread:
        with self._lock:
            if self._loop is None:
                self._loop = LoopThread()
            return self._loop

    def _collect(
        self, jobs: Sequence[Job], running: dict[int, tuple[Any, float]], done: Any
    ) -> Iterator[Finished]:
        """Yield the next job that finishes or times out."""
        ends = [began + (jobs[at].seconds or 1e9) for at, (_, began) in running.items()]
        try:
            at, outcome = done.get(timeout=max(0.0, min(min(ends) - time.monotonic(), 3600.0)))
        except queue.Empty:
            yield from self._expire(jobs, running)
            return
        if at in running:
            _, began = running.pop(at)
            yield at, told(outcome, self._limit, time.monotonic() - began)

    def _expire(
        self, jobs: Sequence[Job], running: dict[int, tuple[Any, float]]
    ) -> Iterator[Finished]:
        now = time.monotonic()
        for at, (work, began) in list(running.items()):
            most = jobs[at].seconds
            if most is not None and now - began >= most:
                work.stop()
                del running[at]
                yield at, timed_out(most, self._limit, now - began)


class _LoopWork:
    """One async tool, in the event loop of a thread."""

    def __init__(self, loop: LoopThread, call: Any, done: Any) -> None:
        self._loop = loop
        self._call = call
        self._done = done
        self._future: Future[CallOutcome] | None = None

    def start(self) -> None:
        self._future = self._loop.submit(attempt_async(_awaited_call(self._call)))
        self._future.add_done_callback(lambda future: self._done(_outcome(future)))

    def stop(self) -> None:
        """Cancel it. A task that has not registered yet ends with its loop."""
        if self._future is not None:
            self._future.cancel()


def _outcome(future: "Future[CallOutcome]") -> CallOutcome:
    """Report how it ended. If we cancelled it, nothing waits for it."""
    if future.cancelled():
        return CallOutcome(error=asyncio.CancelledError("the tool was cancelled"))
    error = future.exception()
    return future.result() if error is None else CallOutcome(error=error)


class TaskExecutor:
    """Runs jobs for an async program: async tools as tasks, sync ones in threads."""

    def __init__(self, limit: int, concurrency: int) -> None:
        self._limit = limit
        self._room = asyncio.Semaphore(concurrency)

    async def run(self, jobs: Sequence[Job]) -> AsyncIterator[Finished]:
        """Each job's place and result, as they finish. Closed early, it stops what still runs."""
        tasks = [asyncio.ensure_future(self._one(at, job)) for at, job in enumerate(jobs)]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, at: int, job: Job) -> Finished:
        async with self._room:
            began = time.monotonic()
            try:
                async with asyncio.timeout(job.seconds):
                    outcome = await self._outcome(job)
            except TimeoutError:
                seconds = time.monotonic() - began
                return at, timed_out(job.seconds or 0.0, self._limit, seconds)
            return at, told(outcome, self._limit, time.monotonic() - began)

    async def _outcome(self, job: Job) -> CallOutcome:
        call = job.runnable.bind(job.arguments)
        if job.runnable.is_async:
            return await attempt_async(_awaited_call(call))
        outcome = await _in_thread(call, job.call.name)
        if inspect.isawaitable(outcome.value):
            return await attempt_async(_awaited(outcome.value))
        return outcome


async def _in_thread(call: Any, name: str) -> CallOutcome:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[CallOutcome] = loop.create_future()

    def finish(outcome: CallOutcome) -> None:
        if not future.done():
            future.set_result(outcome)

    work = ThreadWork(call, lambda outcome: loop.call_soon_threadsafe(finish, outcome), name)
    work.start()
    try:
        return await future
    finally:
        work.stop()


async def _awaited(value: Any) -> Any:
    return await value


async def _awaited_call(call: Any) -> Any:
    return await call()


def told(outcome: CallOutcome, limit: int, seconds: float) -> CallResult:
    """Convert an outcome to a result for the model."""
    if outcome.error is not None:
        return raised(outcome.error, limit, seconds)
    return result_of(outcome.value, limit, seconds)


def timed_out(most: float, limit: int, seconds: float) -> CallResult:
    """Return the result of a call that timed out."""
    return error_of(f"the tool did not finish within {most:g} s and was stopped", limit, seconds)
