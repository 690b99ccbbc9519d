"""Names, aliases and patterns: which model a name means."""

import pytest

from toolwire.backends.pool import BackendPool
from toolwire.errors import ModelNotFound
from toolwire.gateway.routes import Routes, ServedModel


def served(**aliases: tuple[str, ...]) -> Routes:
    pool = BackendPool([], lambda: 0.0)
    return Routes(ServedModel(name, pool, aliases=also) for name, also in aliases.items())


ROUTES = served(
    **{
        "small": ("claude-*", "gpt-5-mini"),
        "big": ("claude-opus-*", "claude-opus-4", "gpt-*"),
        "o3*": (),
        "*": (),
    }
)
FOUND = {
    "small": "small",
    "big": "big",
    "claude-haiku-4-5": "small",
    "claude-": "small",
    "claude-*": "small",
    "claude-opus-4-8": "big",
    "claude-opus-4": "big",
    "gpt-5-mini": "small",
    "gpt-5-mini-2": "big",
    "o3": "o3*",
    "o3-pro": "o3*",
    "claude": "*",
    "Claude-haiku": "*",
    "": "*",
}


@pytest.mark.parametrize("name", FOUND)
def test_an_exact_name_comes_before_the_longest_pattern_and_any_name_last(name: str) -> None:
    assert ROUTES.find(name).name == FOUND[name]


def test_patterns_are_not_listed() -> None:
    assert ROUTES.names == ["small", "gpt-5-mini", "big", "claude-opus-4"]


def test_without_a_pattern_that_fits_a_name_is_unknown_and_all_names_are_told() -> None:
    with pytest.raises(ModelNotFound, match=r"This server has: 'a', 'b', 'claude-\*'\."):
        served(a=("b", "claude-*")).find("gpt-5")


def test_an_alias_for_any_name_takes_what_names_no_model_and_forwards_nothing() -> None:
    routes = served(a=(), b=("*",))
    assert routes.find("x").name == routes.default().name == "b"
    assert routes.any is None


def test_without_one_a_request_that_names_no_model_goes_to_the_first() -> None:
    assert served(a=("x*",), b=()).default().name == "a"
