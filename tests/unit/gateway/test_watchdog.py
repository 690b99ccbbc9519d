"""One timer for all: it runs while there is something to look at, and not longer."""

from collections.abc import Callable

from toolwire.gateway.watchdog import STEP, Watchdog


class Loop:
    """A loop whose time passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[Callable[[], None]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None], /) -> None:
        assert delay == STEP
        self.due.append(callback)

    def step(self) -> None:
        self.now += STEP
        due, self.due = self.due, []
        for callback in due:
            callback()


class Turn:
    """Remembers when it was looked at; leaves after so many looks."""

    def __init__(self, watchdog: Watchdog, looks: int) -> None:
        self.watchdog = watchdog
        self.looks = looks
        self.seen: list[float] = []

    def check(self, now: float) -> None:
        self.seen.append(now)
        if len(self.seen) == self.looks:
            self.watchdog.remove(self)


def test_every_turn_is_looked_at_until_it_is_over() -> None:
    watchdog, loop = Watchdog(), Loop()
    turns = [Turn(watchdog, looks) for looks in (1, 3)]
    for turn in turns:
        watchdog.add(turn, loop)
    assert len(loop.due) == 1
    for _ in range(6):
        loop.step()
    assert [len(turn.seen) for turn in turns] == [1, 3]
    assert turns[1].seen[0] == STEP


def test_without_turns_there_is_no_timer() -> None:
    watchdog, loop = Watchdog(), Loop()
    turn = Turn(watchdog, 1)
    watchdog.add(turn, loop)
    for _ in range(3):
        loop.step()
    assert loop.due == []
    watchdog.add(turn, loop)
    loop.step()
    assert len(turn.seen) == 2
