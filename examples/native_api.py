"""The native API: a conversation that the server keeps, with a tool.

toolwire serve &
python examples/native_api.py http://127.0.0.1:8181 MODEL "What is the weather in Paris?"
"""

import json
import sys
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

GET_WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
KNOWN = {"Paris": {"sky": "rain", "celsius": 14}, "Rome": {"sky": "sun", "celsius": 25}}


def ask(server: str, **fields: Any) -> dict[str, Any]:
    """Send a request; what went wrong is in the error's body."""
    body = json.dumps(fields).encode()
    headers = {"content-type": "application/json"}
    request = Request(f"{server}/native/v1/chat", body, headers)  # noqa: S310
    try:
        with urlopen(request) as response:  # noqa: S310
            answer: dict[str, Any] = json.load(response)
            return answer
    except HTTPError as error:
        raise SystemExit(json.dumps(json.load(error), indent=2)) from None


def run(call: dict[str, Any]) -> dict[str, Any]:
    """Run one call. The arguments are an object, and fit the schema."""
    city = call["function"]["arguments"]["city"]
    if city in KNOWN:
        return {"tool_call_id": call["id"], "content": KNOWN[city]}
    return {"tool_call_id": call["id"], "content": f"No such city: {city}", "is_error": True}


def main(server: str, model: str, question: str) -> None:
    """Ask, run the calls, and send only their results, until there is an answer."""
    asked = {"messages": [{"role": "user", "content": question}], "tools": [GET_WEATHER]}
    answer = ask(server, model=model, conversation_id="new", **asked)
    while calls := answer["choices"][0]["message"].get("tool_calls"):
        results = [run(call) for call in calls]
        answer = ask(server, conversation_id=answer["conversation_id"], tool_results=results)
    print(answer["choices"][0]["message"]["content"])  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
