"""Returns freed memory to the system.

glibc keeps freed memory: tens of megabytes after a few large requests, and more for each thread
that has read one. With other C libraries nothing is done.
"""

import ctypes
from typing import Any

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h


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
