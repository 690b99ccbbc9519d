"""A tool, and models that call it wrongly at first."""

import json
from collections.abc import Callable
from typing import Any

from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.scripted import Answer, Call

NAME = "get_weather"
RIGHT = '{"city": "Bern", "days": 3}'
WRONG = '{"city": "Bern", "days": "some"}'
BROKEN = '{"city": "Bern", "days": '


def weather(*, strict: bool = False) -> list[dict[str, Any]]:
    """The only tool."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    function = {"name": NAME, "parameters": schema, "strict": strict}
    return [{"type": "function", "function": function}]


def calling(*arguments: str, name: str = NAME, text: str = "") -> Callable[[Any], Answer]:
    """A model that calls the tool with the next of these arguments each time it is asked."""
    left = list(arguments)

    def script(_request: Any) -> Answer:
        written = left.pop(0) if len(left) > 1 else left[0]
        return Answer(text=text, calls=(Call(name, written),))

    return script


def send(
    gateway: Gateway,
    *,
    strict: bool = False,
    stream: bool = False,
    profile: str = "default",
    **more: Any,
) -> Reply:
    """Ask for the weather."""
    body = chat_body(tools=weather(strict=strict), stream=stream, **more)
    return ask(gateway.port, body, headers={"toolwire-profile": profile})


def notes(reply: Reply) -> dict[str, Any]:
    """What Toolwire says about a stream on its last chunk."""
    *_, last, done, rest = reply.body.decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    found: dict[str, Any] = json.loads(last.removeprefix("data: ")).get("toolwire", {})
    return found
