"""Levels of reasoning effort."""

import pytest

from toolwire.backends.dialects import DIALECTS
from toolwire.protocol.effort import EFFORTS, effort_of_budget, nearest_effort

BASIC = ("none", "low", "medium", "high")


@pytest.mark.parametrize(
    ("asked", "known", "sent"),
    [
        ("max", BASIC, "high"),
        ("xhigh", BASIC, "high"),
        ("minimal", BASIC, "low"),
        ("none", BASIC, "none"),
        ("none", ("low", "high"), "low"),
        ("medium", ("low", "high"), "low"),
        ("low", ("none", "high"), "high"),
        ("max", ("minimal", "xhigh"), "xhigh"),
        ("ultra", BASIC, "ultra"),
        ("max", (), "max"),
    ],
)
def test_the_nearest_level_that_is_known_is_taken(
    asked: str, known: tuple[str, ...], sent: str
) -> None:
    assert nearest_effort(asked, known) == sent


@pytest.mark.parametrize(
    ("tokens", "level"), [(1024, "low"), (4096, "medium"), (16384, "high"), (31999, "high")]
)
def test_a_budget_stands_for_a_level(tokens: int, level: str) -> None:
    assert effort_of_budget(tokens) == level


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_a_dialect_names_only_known_levels(dialect: object) -> None:
    assert set(dialect.efforts) <= set(EFFORTS)  # type: ignore[attr-defined]
