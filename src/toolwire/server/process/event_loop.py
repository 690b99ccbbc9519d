"""The event loop: uvloop where it exists, else asyncio's own.

uvloop does not support Windows and PyPy. Everything works without it, but more slowly.
"""

import asyncio
import importlib.util
import signal
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Literal, TypeAlias

Loop: TypeAlias = Literal["auto", "uvloop", "asyncio"]


class NoUvloop(Exception):
    """uvloop is required, but not installed."""


def run_on_loop(work: Coroutine[Any, Any, None], loop: Loop = "auto") -> str:
    """Run `work` on a new loop, and return the kind of loop."""
    kind = loop_kind(loop)
    if kind == "asyncio":
        asyncio.run(work)
    else:
        import uvloop  # noqa: PLC0415 - imported late, so that --help and errors stay fast

        uvloop.run(work)
    return kind


def loop_kind(loop: Loop) -> Literal["uvloop", "asyncio"]:
    """Return the loop to use. Raises `NoUvloop`."""
    if loop == "asyncio":
        return "asyncio"
    if importlib.util.find_spec("uvloop") is not None:
        return "uvloop"
    if loop == "uvloop":
        raise NoUvloop('uvloop is not installed: use loop = "auto", or pip install uvloop')
    return "asyncio"


def on_signals(numbers: Iterable[signal.Signals], call: Callable[[], None]) -> None:
    """Call `call` in the running loop when one of the signals arrives."""
    loop = asyncio.get_running_loop()
    for number in numbers:
        try:
            loop.add_signal_handler(number, call)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))
