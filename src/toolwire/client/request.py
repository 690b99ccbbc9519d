"""Builds a chat request. Does no I/O."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from toolwire.client.answer import Message
from toolwire.client.errors import ConfigurationError
from toolwire.client.tools.tool import Tool
from toolwire.client.tools.toolbox import Toolbox, toolbox_of
from toolwire.client.transport import ApiRequest

Messages = str | Sequence[Mapping[str, Any] | Message | Any]
ToolChoice = Literal["auto", "none", "required"] | str | Mapping[str, Any] | Tool[Any, Any]
_CHAT = "/chat/completions"
_WORDS = frozenset({"auto", "none", "required"})


def chat_request(
    messages: Messages,
    model: str,
    *,
    tools: Any,
    tool_choice: ToolChoice | None,
    stream: bool,
    timeout: float | None,
    headers: Mapping[str, str] | None,
    parameters: Mapping[str, Any],
) -> ApiRequest:
    """Return a chat request. Parameters that are None are omitted."""
    body: dict[str, Any] = {"model": model, "messages": message_list(messages)}
    box, plain = toolbox_of(tools)
    if definitions := [*box.definitions, *plain]:
        body["tools"] = definitions
    if tool_choice is not None:
        body["tool_choice"] = wire_choice(tool_choice)
    given = {name: value for name, value in parameters.items() if value is not None}
    if stream:
        body["stream"] = True
        if "stream_options" not in parameters:
            body["stream_options"] = {"include_usage": True}
    sent = encode({**body, **given})
    return ApiRequest(_CHAT, sent, headers=headers, timeout=timeout, stream=stream)


def message_list(messages: Messages) -> list[Any]:
    """Return messages as a list. A string becomes a user message."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    return list(messages)


def wire_choice(choice: ToolChoice) -> Any:
    """Return a tool choice in OpenAI's format. A function may be given by its name."""
    if isinstance(choice, Tool):
        choice = choice.name
    if isinstance(choice, str):
        return choice if choice in _WORDS else _named(choice)
    if choice.get("type") == "function" and "name" in choice:
        return _named(choice["name"])
    return dict(choice)


def runnable(tools: Any) -> Toolbox:
    """Return the tools of a run. Raises if one of them cannot be called."""
    box, plain = toolbox_of(tools)
    if plain:
        name = plain[0].get("function", plain[0]).get("name")
        raise ConfigurationError(
            f"run() calls the tools itself, and {name!r} is a definition without a function. "
            "Give the function, or use chat()."
        )
    return box


def encode(value: Any) -> bytes:
    """Encode as JSON, including objects of the openai package and pydantic models."""
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"The request cannot be written as JSON: {error}") from None


def _named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")
