"""A chat request as the scripts see it: read access to a JSON body, nothing judged."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class ChatRequest:
    """One chat request, and two wishes a variant may add for the script to honour if it can."""

    body: JsonObject
    width: int = 1
    """How many calls the variant would like in one turn."""
    wants_bare_call: bool = False
    """Whether the variant would like a call without arguments."""

    @property
    def model(self) -> str:
        return str(self.body.get("model", "scripted"))

    @property
    def messages(self) -> list[JsonObject]:
        return [message for message in _list(self.body.get("messages")) if type(message) is dict]

    @property
    def tools(self) -> list[JsonObject]:
        """The `function` objects of the tools offered."""
        tools = [tool for tool in _list(self.body.get("tools")) if type(tool) is dict]
        return [tool["function"] for tool in tools if type(tool.get("function")) is dict]

    @property
    def tool_choice(self) -> Any:
        return self.body.get("tool_choice")

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def include_usage(self) -> bool:
        options = self.body.get("stream_options")
        return type(options) is dict and options.get("include_usage") is True

    @property
    def turn(self) -> int:
        """The number of this turn: how many assistant messages there are already."""
        return sum(message.get("role") == "assistant" for message in self.messages)

    def calls(self) -> Iterator[tuple[str, Any]]:
        """Every call of the history whose arguments can be read, as (name, arguments)."""
        for message in self.messages:
            for call in _list(message.get("tool_calls")):
                try:
                    yield (
                        call["function"]["name"],
                        json.loads(call["function"]["arguments"] or "{}"),
                    )
                except (KeyError, TypeError, ValueError):
                    continue

    def texts(self, *roles: str) -> list[str]:
        """The texts of all messages of these roles, oldest first."""
        return [text_of(message) for message in self.messages if message.get("role") in roles]


def text_of(message: JsonObject) -> str:
    """Join the text of a message whose content may be a string, parts or nothing."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [part for part in _list(content) if type(part) is dict]
    return "\n".join(str(part.get("text", "")) for part in parts)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
