"""A client of the native API."""

import json
from dataclasses import dataclass
from typing import Any

from tests.e2e.gateway.wire import Reply, ask

from toolwire.server.access.auth import hash_key

CHAT = "/native/v1/chat"
CONVERSATIONS = "/native/v1/conversations"
NAMES = ("first", "second")
KEYS = "".join(
    f'[[keys]]\nname = "{name}"\nsha256 = "{hash_key(f"tw-{name}-0123456789abcdefghij")}"\n'
    for name in NAMES
)
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}


@dataclass(frozen=True)
class NativeClient:
    """One client, by the name of its key."""

    port: int
    name: str = "first"

    @property
    def headers(self) -> dict[str, str]:
        """What every request has."""
        return {"authorization": f"Bearer tw-{self.name}-0123456789abcdefghij"}

    def chat(self, *, key: str = "", call_map: str = "", **fields: Any) -> Reply:
        """Send a request."""
        more = {"idempotency-key": key, "toolwire-call-map": call_map}
        headers = self.headers | {name: value for name, value in more.items() if value}
        return ask(self.port, fields, path=CHAT, headers=headers)

    def get(self, path: str = "") -> Reply:
        """Read conversations."""
        return ask(self.port, path=CONVERSATIONS + path, headers=self.headers)

    def delete(self, name: str) -> Reply:
        """Delete a conversation."""
        path = f"{CONVERSATIONS}/{name}"
        return ask(self.port, path=path, method="DELETE", headers=self.headers)


def user(text: str) -> dict[str, str]:
    """What a user says."""
    return {"role": "user", "content": text}


def answered(reply: Reply) -> dict[str, Any]:
    """The message of an answer, whole or streamed."""
    assert reply.status == 200, reply.body
    if reply.headers["content-type"] == "application/json":
        message = reply.json["choices"][0]["message"]
        calls = message.get("tool_calls", [])
        return {"content": message["content"] or "", "calls": calls, "done": reply.json}
    told = events(reply)
    assert told[-1]["type"] == "done", told
    return {
        "content": "".join(e["delta"] for e in told if e["type"] == "text.delta"),
        "calls": [e["tool_call"] for e in told if e["type"] == "tool_call"],
        "done": told[-1],
    }


def events(reply: Reply) -> list[Any]:
    """The events of a stream."""
    blocks = reply.body.decode().split("\n\n")[:-1]
    named = [block.split("\ndata: ", 1) for block in blocks if block.startswith("event: ")]
    return [json.loads(data) for _, data in named]
