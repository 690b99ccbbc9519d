"""The Responses API on the embedded model: a call, its result, and the answer."""

import json
from typing import Any

import openai
from tests.e2e.gateway.process import Gateway

WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "strict": False,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


def test_a_task_goes_on_from_a_streamed_call(served: Gateway) -> None:
    asked: Any = {"model": "m", "tools": [WEATHER], "temperature": 0}
    with openai.OpenAI(base_url=served.url, api_key="none", timeout=120) as client:
        question = "What is the weather in Paris?"
        with client.responses.stream(input=question, tool_choice="required", **asked) as stream:
            first = stream.get_final_response()
        (call,) = first.output
        assert call.type == "function_call"
        assert json.loads(call.arguments) == {"city": "Paris"}
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        last = client.responses.create(
            input=[result], previous_response_id=first.id, max_output_tokens=40, **asked
        )
    assert "rain" in last.output_text.lower()
    assert last.usage is not None
    assert last.usage.input_tokens_details.cached_tokens > 0
