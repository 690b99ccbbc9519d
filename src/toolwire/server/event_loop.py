"""The event loop: uvloop where it exists, else asyncio's own.

uvloop does not exist for Windows and PyPy. Without it everything works, only more slowly.
"""

import asyncio
import importlib.util
import signal
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Literal, TypeAlias

Loop: TypeAlias = Literal["auto", "uvloop", "asyncio"]


class NoUvloop(Exception):
    """uvloop is demanded, but not installed."""


def run_on_loop(work: Coroutine[Any, Any, None], loop: Loop = "auto") -> str:
    """Run `work` to its end on a new loop, and return which kind it was."""
    kind = loop_kind(loop)
    if kind == "asyncio":
        asyncio.run(work)
    else:
        import uvloop  # noqa: PLC0415 - only here: --help and errors stay quick

        uvloop.run(work)
    return kind


def loop_kind(loop: Loop) -> Literal["uvloop", "asyncio"]:
    """Which loop is used. Raises `NoUvloop`."""
    if loop == "asyncio":
        return "asyncio"
    if importlib.util.find_spec("uvloop") is not None:
        return "uvloop"
    if loop == "uvloop":
        raise NoUvloop('uvloop is not installed: use loop = "auto", or pip install uvloop')
    return "asyncio"


def on_signals(numbers: Iterable[signal.Signals], call: Callable[[], None]) -> None:
    """Call this in the running loop when one of the signals arrives."""
    loop = asyncio.get_running_loop()
    for number in numbers:
        try:
            loop.add_signal_handler(number, call)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))
