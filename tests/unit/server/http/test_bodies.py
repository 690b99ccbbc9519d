"""The budget that the bodies of all connections share."""

from toolwire.server.http.bodies import SMALL, BodyBudget

ROOM = 10 * SMALL


class Upload:
    """A body that grows, and gives way when it is told to."""

    def __init__(self, budget: BodyBudget) -> None:
        self.budget = budget
        self.size = 0

    def grow(self, more: int) -> bool:
        """Read more of it."""
        self.size += more
        if self.size <= SMALL or self.budget.take(self, self.size, more):
            return True
        self.make_way()
        return False

    def make_way(self) -> None:
        """Let go of it."""
        self.budget.complete(self)
        self.budget.give(self.size)
        self.size = 0


def test_small_bodies_are_not_counted_until_they_are_not_small() -> None:
    budget = BodyBudget(ROOM)
    upload = Upload(budget)
    assert upload.grow(SMALL)
    assert budget.held == 0
    assert upload.grow(1)
    assert upload.grow(5)
    assert budget.held == SMALL + 6


def test_the_body_that_has_been_coming_in_for_longest_gives_way() -> None:
    budget = BodyBudget(ROOM)
    slow, slower, quick = Upload(budget), Upload(budget), Upload(budget)
    assert slow.grow(4 * SMALL)
    assert slower.grow(4 * SMALL)
    assert quick.grow(4 * SMALL)
    assert (slow.size, slower.size, quick.size) == (0, 4 * SMALL, 4 * SMALL)
    assert budget.held == 8 * SMALL


def test_what_is_being_answered_does_not_give_way() -> None:
    budget = BodyBudget(ROOM)
    complete, late = Upload(budget), Upload(budget)
    assert complete.grow(9 * SMALL)
    budget.complete(complete)
    assert not late.grow(2 * SMALL)
    assert budget.held == 9 * SMALL
    budget.give(complete.size)
    assert late.grow(2 * SMALL)


def test_the_oldest_gives_way_to_nobody_younger_but_to_its_own_size() -> None:
    budget = BodyBudget(ROOM)
    first = Upload(budget)
    assert first.grow(ROOM)
    assert not first.grow(1)
    assert budget.held == 0
