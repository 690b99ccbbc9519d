"""Memory that was needed for a while is returned to the system (R23)."""

from toolwire.server.process.memory import MemoryKeeper

MB = 1 << 20


class Process:
    """A process with memory in use, and memory that is free but not returned."""

    def __init__(self) -> None:
        self.used = 40 * MB
        self.free = 0
        self.pinned = 0
        self.tries = 0
        self.collections = 0
        self.keeper = MemoryKeeper(
            lambda: self.used + self.free + self.pinned, self.give, self.collect
        )

    def give(self) -> None:
        """Return what is free."""
        self.tries += 1
        self.free = 0

    def collect(self) -> None:
        """Return what only a few small objects keep."""
        self.collections += 1
        self.free = self.pinned = 0

    def tidy(self, times: int = 1, *, calm: bool = True) -> None:
        """Sweep so many times."""
        for _ in range(times):
            self.keeper.tidy(calm=calm)


def test_a_little_is_kept() -> None:
    process = Process()
    process.free = 7 * MB
    process.tidy(100)
    assert process.tries == 0


def test_much_is_returned_at_once_whatever_it_was_for() -> None:
    process = Process()
    process.free = 9 * MB
    process.tidy()
    assert (process.tries, process.collections, process.free) == (1, 0, 0)


def test_what_small_objects_keep_is_returned_when_it_is_calm() -> None:
    process = Process()
    process.pinned = 150 * MB
    process.tidy(100, calm=False)
    assert (process.collections, process.pinned) == (0, 150 * MB)
    process.tidy(8)
    assert (process.collections, process.pinned) == (1, 0)


def test_what_is_in_use_is_tried_ever_more_rarely() -> None:
    process = Process()
    process.used += 50 * MB
    process.tidy(80)
    assert process.tries < 15


def test_what_was_in_use_is_returned_soon_after() -> None:
    process = Process()
    process.used += 300 * MB
    process.tidy(100)
    process.used, process.free = process.used - 300 * MB, 300 * MB
    process.tidy(8)
    assert process.free == 0
