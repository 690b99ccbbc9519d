"""Tools for the tests of the embedded model, and ways to ask for them."""

from typing import Any


def tool(name: str, description: str, properties: dict[str, Any], **more: Any) -> Any:
    """A tool, all of whose properties are required."""
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    if more.get("strict"):
        parameters["additionalProperties"] = False
    parameters |= more.pop("parameters", {})
    function = {"name": name, "description": description, "parameters": parameters, **more}
    return {"type": "function", "function": function}


def named(offered: Any) -> Any:
    """The `tool_choice` that demands this tool."""
    return {"type": "function", "function": {"name": offered["function"]["name"]}}


def said(text: str) -> Any:
    """A user's message."""
    return {"role": "user", "content": text}


def result(call_id: str, content: str) -> Any:
    """What a tool returned."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


STRING = {"type": "string"}
WEATHER = tool("get_weather", "Get the current weather in a city.", {"city": STRING})
TIME = tool("get_time", "Get the current time in a city.", {"city": STRING})
PARIS = said("What is the weather in Paris?")
PLAIN: Any = {"model": "m", "temperature": 0, "max_tokens": 80}
