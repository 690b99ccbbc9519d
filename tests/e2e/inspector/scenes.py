"""A model that reports the weather, with native tools or with its calls in text, and its client."""

import json
from typing import Any

from playwright.sync_api import Page
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.scripted import Answer, Call
from tests.scripted.request import ChatRequest

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather in a city",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
]
WRITTEN = (
    "<think>\nThe user asks about Bern. One call will do.\n</think>\nI will look that up.\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bern", "days": "3"}}\n</tool_call>'
)
CONFIG = """
[trace]
bodies = true
[repair]
streams = "whole"
[[models]]
name = "weather"
backend = {{ url = "{url}", dialect = "vllm" }}
[[models]]
name = "weather-small"
mode = "prompted"
format = "hermes"
backend = {{ url = "{url}", dialect = "vllm" }}
"""
HOSTILE = (
    "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
    "<svg onload=window.pwned=3>\"'><a href='javascript:window.pwned=4'>click</a> ${alert(1)}"
)


def weather_model(request: ChatRequest) -> Answer:
    """Calls the tool, then says what it gave; says hostile things if it is told to."""
    said = "\n".join(request.texts("user"))
    if "hostile" in said:
        return Answer(text=HOSTILE)
    if "Berne" in said:  # it writes the number of days in words, until it is told not to
        return Answer(text=WRITTEN if "integer" in said else WRITTEN.replace('"3"', '"three"'))
    if "Fail" in said:
        return Answer(text="I will.", calls=(Call("get_wether", '{"city": "Bern"}'),))
    if any(message["role"] == "tool" for message in request.messages) or "18 degrees" in said:
        return Answer(text="It is 18 degrees and sunny in Bern, and it stays so for three days.")
    if request.tools:
        call = Call("get_weather", '{"city": "Bern", "days": 3}')
        return Answer(text="I will look that up.", calls=(call,))
    return Answer(text=WRITTEN)


def send(gateway: Gateway, text: str, *, model: str = "weather", **more: Any) -> Reply:
    """Ask the model, as a client does."""
    messages = [
        {"role": "system", "content": "You are a helpful assistant.\nAnswer briefly."},
        {"role": "user", "content": text},
    ]
    body = chat_body(tools=TOOLS, stream=True, model=model, messages=messages, **more)
    return ask(gateway.port, body)


def paste(page: Page, text: str, *, tools: Any = TOOLS, size: int = 4) -> None:
    """Put a text into the first view, and wait until it was read and drawn."""
    drawn = page.locator("#readings").get_attribute("data-drawn")
    # Not typed: the browser lays a long text out again with each line of it.
    page.evaluate(
        "values => { for (const id in values) document.getElementById(id).value = values[id] }",
        {
            "format": "auto",
            "compare": "",
            "size": str(size),
            "tools": json.dumps(tools),
            "text": text,
        },
    )
    page.locator("#text").press("Control+Enter")
    page.wait_for_function(
        "([drawn, text]) => { const box = document.getElementById('readings');"
        "const painted = box.querySelector('.painted');"
        "return box.dataset.drawn !== drawn && painted.textContent === text }",
        arg=[drawn, text],
    )


def roles(page: Page, role: str) -> list[str]:
    """The stretches of the text that became this."""
    return page.locator(f".painted .role.{role}").all_inner_texts()
