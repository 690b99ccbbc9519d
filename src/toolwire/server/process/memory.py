"""Returns freed memory to the system.

glibc keeps freed memory: tens of megabytes after a few large requests, and more for each thread
that has read one. With other C libraries nothing is done about that.

Python keeps a few thousand freed tuples, lists and dicts for reuse. After an answer in hundreds of
thousands of pieces, each may be the last object in a megabyte of its own. Only a full collection
lets go of them.
"""

import ctypes
import gc
import os
from collections.abc import Callable
from typing import Any

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
_WORTH_IT = 8 * 1024 * 1024
_LONGEST_PAUSE = 8


def _c_function(name: str) -> Any:
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return lambda *_: 0


_mallopt, _malloc_trim = _c_function("mallopt"), _c_function("malloc_trim")


def use_one_arena() -> None:
    """Make threads share one arena: memory in separate arenas cannot be returned.

    They would not allocate at the same time anyway: they hold the interpreter's lock.
    """
    _mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return every free page. Takes milliseconds, so do not call it per request."""
    _malloc_trim(ctypes.c_size_t(0))


def let_go() -> None:
    """Drop the objects that Python keeps for reuse, and return every free page. Takes as long as
    there are objects."""
    gc.collect()
    give_back()


def resident() -> int:
    """Return the size of the process in memory; 0 if the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - takes half as long
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class MemoryKeeper:
    """Returns memory once the process has grown, whatever it grew for: bodies, answers, errors.

    Call `tidy` from time to time. What cannot be returned is in use; it is tried again ever later,
    up to every eighth time.
    """

    __slots__ = ("_least", "_let_go", "_measure", "_pause", "_return", "_skip")

    def __init__(
        self,
        measure: Callable[[], int] = resident,
        give: Callable[[], None] = give_back,
        release: Callable[[], None] = let_go,
    ) -> None:
        self._measure = measure
        self._return = give
        self._let_go = release
        self._least = measure()
        self._pause = 1
        self._skip = 0

    def tidy(self, *, calm: bool) -> None:
        """Return free memory if it is likely that there is much. `calm`: few requests are in
        progress, so there are few objects, and nobody waits long for what takes longer."""
        self._skip -= 1
        if self._skip > 0:
            return
        size = self._measure()
        self._least = min(self._least, size)
        if size - self._least < _WORTH_IT:
            self._pause = 1
            return
        self._return()
        returned = size - self._measure()
        if returned < _WORTH_IT and calm:
            self._let_go()
            returned = size - self._measure()
        self._pause = 1 if returned >= _WORTH_IT else min(2 * self._pause, _LONGEST_PAUSE)
        self._skip = self._pause
