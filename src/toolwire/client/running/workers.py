"""Runs tools: each in its own thread, or as a task of an event loop in a thread.

A thread cannot be killed. A stopped thread gets an exception as soon as it runs Python code again,
like Ctrl-C in a program. Until then nothing waits for it, and it does not keep the program from
exiting.
"""

import asyncio
import contextvars
import ctypes
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

_END_SECONDS = 4.0
"""Seconds that async tools get to finish after they were cancelled."""


class CallStopped(BaseException):
    """Raised inside a tool whose result is no longer needed. Do not suppress it."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call: a value, or the exception it raised."""

    value: Any = None
    error: BaseException | None = None


class ThreadWork:
    """One call in its own thread. `done` is called in that thread."""

    def __init__(
        self, work: Callable[[], Any], done: Callable[[CallOutcome], object], name: str
    ) -> None:
        self._work = work
        self._done = done
        self._begun = False
        self._stopped = False
        self._lock = threading.Lock()
        self._over = False
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=lambda: context.run(self._run), name=f"toolwire-{name}", daemon=True
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Interrupt the tool, if it is still running."""
        with self._lock:
            if self._over or self._stopped:
                return
            self._stopped = True
            if self._begun and self._thread.ident is not None:
                _interrupt(self._thread.ident)

    def _run(self) -> None:
        try:
            with self._lock:
                if self._stopped:
                    return
                self._begun = True
            outcome = attempt(self._work)
            with self._lock:
                # No interrupts from here on: the exception would hit `done`.
                self._over = True
            if self._stopped:
                _await_interrupt()
            else:
                self._done(outcome)
        except CallStopped:
            return


def _interrupt(thread: int) -> None:
    if api := getattr(ctypes, "pythonapi", None):  # CPython
        api.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(CallStopped))


def _await_interrupt() -> None:
    """Wait for a pending interrupt of a tool that just ended, unless the tool suppressed it."""
    for _ in range(20):
        time.sleep(0.001)


def attempt(work: Callable[[], Any]) -> CallOutcome:
    """Run a tool and capture any exception for the model. Only `CallStopped` escapes."""
    try:
        return CallOutcome(work())
    except CallStopped:
        raise
    except BaseException as error:  # noqa: BLE001
        return CallOutcome(error=error)


async def attempt_async(work: Coroutine[Any, Any, Any]) -> CallOutcome:
    """Like `attempt`, for a coroutine. A cancellation is ours, unless the tool raised it itself."""
    try:
        return CallOutcome(await work)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return CallOutcome(error=error)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return CallOutcome(error=error)


class LoopThread:
    """An event loop in a thread, for async tools of a sync program and for MCP sessions."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="toolwire-loop", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> "Future[Any]":
        """Run a coroutine there. Cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine there and wait for it."""
        return self.submit(work).result()

    def close(self) -> None:
        """Cancel what is running and end the thread."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=_END_SECONDS)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._loop.run_until_complete(asyncio.wait(tasks, timeout=_END_SECONDS / 2))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
