"""A body is collected in few pieces, and counts towards the budget until it is discarded."""

import pytest

from toolwire.server.http.bodies import SMALL, BodyBudget
from toolwire.server.http.incoming_body import IncomingBody


class Client:
    """An upload that only notes that it had to go."""

    def __init__(self) -> None:
        self.gone = False

    def make_way(self) -> None:
        self.gone = True


@pytest.mark.parametrize("pieces", [[], [b"whole"], [b"a", b"b", b"c" * 5000, b"d"]])
def test_a_body_is_what_was_added(pieces: list[bytes]) -> None:
    body, client = IncomingBody(BodyBudget(SMALL)), Client()
    assert all(body.add(client, piece) for piece in pieces)
    assert body.complete(client) == b"".join(pieces)
    assert (body.size, body.complete(client)) == (0, b"")


def test_a_large_body_counts_also_when_it_is_complete() -> None:
    budget, client = BodyBudget(10 * SMALL), Client()
    body = IncomingBody(budget)
    assert body.add(client, b"x" * SMALL)
    assert budget.held == 0, "small so far"
    assert body.add(client, b"x")
    body.complete(client)
    assert budget.held == SMALL + 1


def test_a_discarded_body_counts_no_longer() -> None:
    budget, client = BodyBudget(10 * SMALL), Client()
    body = IncomingBody(budget)
    body.add(client, b"x" * 2 * SMALL)
    body.discard(client)
    assert (budget.held, body.size) == (0, 0)


def test_a_body_without_room_is_refused() -> None:
    body, client = IncomingBody(BodyBudget(SMALL)), Client()
    assert not body.add(client, b"x" * (SMALL + 1))
