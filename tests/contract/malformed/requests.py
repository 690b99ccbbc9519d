"""All malformed requests."""

from collections.abc import Callable, Iterator

from tests.contract.malformed.bodies import cut, garbled
from tests.contract.malformed.case import BadRequest
from tests.contract.malformed.fields import absent, out_of_range, wrong_types
from tests.contract.malformed.histories import arguments, deep, histories
from tests.contract.malformed.tools import choices, names, schemas, strict

MAKERS: tuple[Callable[[], Iterator[BadRequest]], ...] = (
    cut, garbled, wrong_types, absent, out_of_range, names, schemas, strict, choices, histories,
    arguments, deep,
)  # fmt: skip


def requests() -> list[BadRequest]:
    """All of them, each with a name of its own."""
    made = [case for make in MAKERS for case in make()]
    assert len({(case.kind, case.name) for case in made}) == len(made)
    return made
