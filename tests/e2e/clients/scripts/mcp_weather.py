"""An MCP server with one tool, in nothing but the standard library: one line of JSON a message."""

import json
import sys
from typing import Any

TOOL = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What is answered to a request."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "weather", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = f"It rains in {params['arguments']['city']}."
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = result_of(asked["method"], asked.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": asked["id"], "result": answer}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
