"""A model that does what the checks of an endpoint ask of it."""

import re
from typing import Any

from tests.scripted import Answer, Call
from tests.scripted.request import ChatRequest
from tests.scripted.tools import fill_tool


def obedient(request: ChatRequest) -> Answer:
    """Call what is asked for, or what tool_choice says; else talk."""
    if request.messages and request.messages[-1].get("role") == "tool":
        return Answer(text="It is 21 degrees.")
    text = request.texts("user")[-1]
    tools = {tool["name"]: tool for tool in request.tools}
    named = _named(request.tool_choice)
    if request.tool_choice == "none" or not tools:
        return Answer(text="Hello.")
    if named:
        return Answer(calls=(Call(named, fill_tool(tools[named], {})),))
    asked = re.search(r"Call (\w+)", text)
    if asked:
        return Answer(calls=tuple(_calls(asked[1], text)))
    if request.tool_choice == "required":
        first = next(iter(tools.values()))
        return Answer(calls=(Call(first["name"], fill_tool(first, {})),))
    return Answer(text="Hello.")


def _calls(name: str, text: str) -> list[Call]:
    cities = [city for city in ("Paris", "Rome") if city in text]
    if name == "get_weather":
        return [Call(name, {"city": city}) for city in cities]
    if name == "book_hotel":
        return [Call(name, {"city": "Paris", "nights": 3, "quiet": True})]
    if name == "create_order":
        items = [{"product": "pen", "count": 3}, {"product": "lamp", "count": 1}]
        return [Call(name, {"customer": {"name": "Ada", "city": "Paris"}, "items": items})]
    return [Call(name, {})]


def _named(choice: Any) -> str | None:
    function = choice.get("function", choice) if isinstance(choice, dict) else {}
    name = function.get("name")
    return name if name != "no_such_tool" else None
