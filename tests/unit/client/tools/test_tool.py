"""Functions of every kind become tools; toolboxes hold them."""

import asyncio
import functools
import inspect
from dataclasses import dataclass, field
from typing import Any

import pytest

from toolwire.client import (
    DuplicateTool,
    InvalidArguments,
    Tool,
    Toolbox,
    ToolDefinitionError,
    UnknownTool,
    tool,
)
from toolwire.client.tools.toolbox import toolbox_of


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Get the weather.

    Args:
        city: Which city.
    """
    return f"{city} {days}"


@dataclass
class Shop:
    """A shop, whose methods are tools."""

    stock: dict[str, int] = field(default_factory=lambda: {"pen": 3})

    @tool
    def count(self, item: str) -> int:
        """Count an item."""
        return self.stock[item]

    @tool(name="buy_item")
    async def buy(self, item: str, amount: int = 1) -> int:
        """Buy an item."""
        self.stock[item] -= amount
        return self.stock[item]

    def plain(self, item: str) -> str:
        """Say its name."""
        return item


class Adder:
    """Add numbers to a base."""

    def __init__(self, base: int) -> None:
        self.base = base

    def __call__(self, number: int) -> int:
        return self.base + number


def test_a_tool_has_openais_form() -> None:
    assert get_weather.definition == {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the weather.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Which city."},
                    "days": {"type": ["integer", "null"], "description": "Default: 1."},
                },
                "required": ["city", "days"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }


def test_a_tool_is_still_the_function() -> None:
    assert get_weather("Paris", days=2) == "Paris 2"
    assert get_weather.__name__ == "get_weather"
    assert list(inspect.signature(get_weather).parameters) == ["city", "days"]


def test_arguments_may_be_text_or_a_dict() -> None:
    assert get_weather.invoke('{"city": "Paris", "days": "3"}') == "Paris 3"
    assert get_weather.invoke({"city": "Paris"}) == "Paris 1"
    assert get_weather.invoke('"{\\"city\\": \\"Paris\\"}"') == "Paris 1"


@pytest.mark.parametrize("text", ['{"city": ', "[]", "5", "{'city': 1}", '"Paris"'])
def test_arguments_that_are_no_object_are_refused(text: str) -> None:
    with pytest.raises(InvalidArguments, match="they are not"):
        get_weather.convert(text)


def test_no_text_means_no_arguments() -> None:
    @tool
    def refresh() -> str:
        return "done"

    assert [refresh.invoke(text) for text in ("", "  ", "{}", "null")] == ["done"] * 4
    assert refresh.definition["function"]["parameters"]["properties"] == {}


def test_a_method_is_bound_to_its_object() -> None:
    first, second = Shop(), Shop({"pen": 9})
    assert (first.count("pen"), second.count("pen")) == (3, 9)
    assert second.count.invoke('{"item": "pen"}') == 9
    assert list(second.count.parameters["properties"]) == ["item"]
    assert asyncio.run(first.buy("pen")) == 2
    assert (first.buy.is_async, first.buy.name) == (True, "buy_item")


def test_an_object_gives_its_tools_to_a_toolbox() -> None:
    assert Toolbox(Shop()).names == ["buy_item", "count"]


def test_a_method_without_a_decorator_is_a_callable_like_any_other() -> None:
    assert Toolbox(Shop().plain).call("plain", {"item": "pen"}) == "pen"


def test_a_partial_hides_what_the_program_knows() -> None:
    def send(sender: str, to: str, urgent: bool = False) -> str:
        """Send a message."""
        return f"{sender} {to} {urgent}"

    for bound in (functools.partial(send, "me"), functools.partial(send, sender="me")):
        one = tool(bound)
        assert one.name == "send"
        assert list(one.parameters["properties"]) == ["to", "urgent"]
        assert one.invoke({"to": "you"}) == "me you False"


def test_an_object_that_can_be_called_is_a_tool() -> None:
    one = tool(Adder(2), name="add")
    assert (one.description, one.invoke({"number": 3})) == ("Add numbers to a base.", 5)


def test_positional_only_parameters_are_given_by_position() -> None:
    @tool
    def power(base: int, /, exponent: int = 2) -> int:
        return int(base**exponent)

    assert power.invoke({"base": 3}) == 9


def test_the_same_function_can_be_two_tools() -> None:
    first, second = (
        tool(get_weather.function, name="a"),
        tool(get_weather, name="b", description="B"),
    )
    assert (first.name, second.name, second.description) == ("a", "b", "B")
    assert get_weather.name == "get_weather"


def test_types_of_the_enclosing_function_are_found() -> None:
    @dataclass
    class Local:
        n: int

    def use(x: "Local") -> Local:
        return Local(x.n + 1)

    assert tool(use).invoke({"x": {"n": 1}}) == Local(2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: 1, "'<lambda>' cannot be the name of a tool"),
        (Shop, "Shop is a class"),
        (5, "5 is not a function"),
    ],
)
def test_what_is_no_function_is_refused(function: Any, message: str) -> None:
    with pytest.raises(ToolDefinitionError, match=message):
        tool(function)


def test_a_parameter_without_a_type_is_refused() -> None:
    def find(query) -> None: ...  # type: ignore[no-untyped-def]

    with pytest.raises(ToolDefinitionError, match="find: parameter 'query' has no type"):
        tool(find)


def test_variadic_parameters_are_refused() -> None:
    def find(*words: str) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"find: a model cannot be given '\*words: str'"):
        tool(find)


def test_a_name_that_is_not_defined_is_refused() -> None:
    def find(query: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ToolDefinitionError, match="find: name 'Missing' is not defined"):
        tool(find)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateTool, match="'get_weather'"):
        Toolbox(get_weather, Toolbox(get_weather))


def test_a_toolbox_renames_and_filters() -> None:
    box = Toolbox(get_weather, Shop())
    assert box.prefixed("x_").names == ["x_get_weather", "x_buy_item", "x_count"]
    assert box.renamed({"count": "stock"}).names == ["get_weather", "buy_item", "stock"]
    assert box.only("count").names == ["count"]
    assert box.without("count").names == ["get_weather", "buy_item"]
    assert box.filtered(lambda one: one.is_async).names == ["buy_item"]
    assert ("count" in box, len(box), repr(box)) == (
        True, 3, "Toolbox(get_weather, buy_item, count)",
    )  # fmt: skip


def test_a_name_that_a_request_cannot_have_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="cannot be the name"):
        Toolbox(get_weather).prefixed("my tools: ")


def test_a_call_of_an_unknown_tool_names_the_known_ones() -> None:
    with pytest.raises(UnknownTool) as caught:
        Toolbox(get_weather).call("get_wether", {})
    assert str(caught.value) == "there is no tool 'get_wether'; the tools are: get_weather"


def test_something_without_tools_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="no methods with @tool"):
        Toolbox(object())


def test_a_tool_stays_a_tool() -> None:
    assert isinstance(get_weather, Tool)
    assert isinstance(Shop.count, Tool)


def test_a_tool_of_a_tool_keeps_what_is_not_changed() -> None:
    @tool(exclusive=True, timeout=3, description="First.")
    def once(values: dict[str, int]) -> None: ...

    again = tool(once, name="again")
    assert (again.name, again.exclusive, again.timeout) == ("again", True, 3)
    assert again.description == "First."
    with pytest.raises(ToolDefinitionError, match="once cannot be strict"):
        tool(once, strict=True)


def test_static_and_class_methods_are_tools() -> None:
    class Numbers:
        base = 2

        @staticmethod
        @tool
        def double(n: int) -> int:
            return 2 * n

        @classmethod
        @tool
        def add(cls, n: int) -> int:
            return cls.base + n

    box = Toolbox(Numbers())
    assert (box.call("double", {"n": 4}), box.call("add", {"n": 4})) == (8, 6)
    with pytest.raises(ToolDefinitionError, match="below @staticmethod"):
        tool(staticmethod(len))


def test_tools_may_come_from_any_iterable() -> None:
    box, plain = toolbox_of(one for one in (get_weather, {"type": "function"}))
    assert (box.names, plain) == (["get_weather"], [{"type": "function"}])
