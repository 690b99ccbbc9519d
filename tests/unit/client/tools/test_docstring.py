"""Docstrings in three styles say the same."""

import pytest

from toolwire.client.tools.docstring import read_docstring

GOOGLE = """Find flights between two cities.

    Prices are in euros.

    Args:
        origin (str): Where it starts: a city
            or an airport.
        seats: How many seats.
        **options: Anything else.

    Returns:
        list: The flights: cheapest first.

    Raises:
        ValueError: no such city
    """
NUMPY = """Find flights between two cities.

    Prices are in euros.

    Parameters
    ----------
    origin : str
        Where it starts: a city
        or an airport.
    seats : int, optional
        How many seats.

    Returns
    -------
    list
        The flights.
    """
SPHINX = """Find flights between two cities.

    Prices are in euros.

    :param str origin: Where it starts: a city
        or an airport.
    :param seats: How many seats.
    :type seats: int
    :returns: The flights.
    :raises ValueError: no such city
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_style_says_the_same(text: str) -> None:
    read = read_docstring(text)
    assert read.description == "Find flights between two cities.\n\nPrices are in euros."
    assert read.parameters["origin"] == "Where it starts: a city or an airport."
    assert read.parameters["seats"] == "How many seats."
    assert "seats" in read.parameters
    assert not {"ValueError", "list", "str"} & set(read.parameters)


def test_a_paragraph_is_one_line_and_a_list_stays_one() -> None:
    read = read_docstring("Do a thing\nwell.\n\n- first\n- second\n\nUse it: always.")
    assert read.description == "Do a thing well.\n\n- first\n- second\n\nUse it: always."


def test_several_names_of_numpy_share_their_text() -> None:
    read = read_docstring("X.\n\nParameters\n----------\na, b : int\n    A number.\n")
    assert read.parameters == {"a": "A number.", "b": "A number."}


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_nothing_says_nothing(text: str | None) -> None:
    assert read_docstring(text).description == ""
    assert read_docstring(text).parameters == {}


def test_a_line_that_ends_with_a_colon_is_no_section() -> None:
    assert read_docstring("It returns:\n    a list.").description == "It returns: a list."
