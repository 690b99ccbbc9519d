"""The same request for every surface, and what a surface may cost beside Chat Completions.

The bodies say the same, have the same number of bytes, and get the same answer from the mock, so
what differs is the cost of another wire. Figures are compared within a round, with those of Chat
Completions.
"""

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.budget import Limit, Row
from harness.payload import chat_request, padded, wish
from harness.rounds import Round
from harness.scenarios import CHUNKS, EVERY_US, LATENCY, PACED, Scenario
from harness.subjects import KEY, Subject

BAR, AIM = 1.3, 1.1
Json = dict[str, Any]


def _responses(chat: Json) -> Json:
    system, *messages = chat["messages"]
    items: list[Json] = []
    for message in messages:
        if message["role"] == "tool":
            output = {"call_id": message["tool_call_id"], "output": message["content"]}
            items.append({"type": "function_call_output", **output})
        elif message["role"] == "assistant":
            items += [
                {"type": "function_call", "call_id": call["id"], **call["function"]}
                for call in message["tool_calls"]
            ]
        else:
            items.append(message)
    tools = [{"type": "function", "strict": False, **tool["function"]} for tool in chat["tools"]]
    about = {"instructions": system["content"], "input": items, "tools": tools, "store": False}
    return {"model": chat["model"], **about, "stream": chat["stream"]}


def _messages(chat: Json) -> Json:
    system, *messages = chat["messages"]
    turns: list[Json] = []
    for message in messages:
        if message["role"] == "tool":
            about = {"tool_use_id": message["tool_call_id"], "content": message["content"]}
            turns.append({"role": "user", "content": [{"type": "tool_result", **about}]})
        elif message["role"] == "assistant":
            blocks = [
                {"type": "tool_use", "id": call["id"], **_parsed(call["function"], "input")}
                for call in message["tool_calls"]
            ]
            turns.append({"role": "assistant", "content": blocks})
        else:
            turns.append(message)
    tools = [
        {
            "name": tool["function"]["name"],
            "description": tool["function"]["description"],
            "input_schema": tool["function"]["parameters"],
        }
        for tool in chat["tools"]
    ]
    about = {"system": system["content"], "messages": turns, "tools": tools, "max_tokens": 4096}
    return {"model": chat["model"], **about, "stream": chat["stream"]}


def _native(chat: Json) -> Json:
    messages = [dict(message) for message in chat["messages"]]
    for message in messages:
        if calls := message.get("tool_calls"):
            message["tool_calls"] = [
                {**call, "function": _parsed(call["function"], "arguments")} for call in calls
            ]
    return {**chat, "messages": messages}


def _parsed(function: Json, key: str) -> Json:
    return {"name": function["name"], key: json.loads(function["arguments"])}


@dataclass(frozen=True)
class Surface:
    """An API beside Chat Completions, and how a request to it is made of one of those."""

    name: str
    path: str
    translate: Callable[[Json], Json]

    def body(self, wish: str, *, stream: bool = False) -> bytes:
        """The request that `payload.body` makes, for this surface."""
        return padded(lambda padding: self.translate(chat_request(wish, padding, stream=stream)))

    @property
    def request(self) -> Scenario:
        """The load for the cost of a request."""
        return replace(LATENCY, **self._changes(self.body(wish())), name=f"{self.name} request")

    @property
    def paced(self) -> Scenario:
        """The load for the cost of a chunk."""
        body = self.body(wish(CHUNKS, EVERY_US), stream=True)
        return replace(PACED, **self._changes(body), name=f"{self.name} paced")

    def _changes(self, body: bytes) -> Json:
        return {"path": self.path, "body": body, "only_through": True}

    def rows(self) -> tuple[Row, Row]:
        """The two lines of the result."""
        limit = Limit("target", BAR, AIM)
        return (
            Row(f"{self.name}: request over chat", "x", self._request, limit, digits=2),
            Row(f"{self.name}: chunk over chat", "x", self._chunk, limit, digits=2),
        )

    def _request(self, taken: Round, subject: str) -> float:
        chat = taken.sample(LATENCY.name, subject).cpu_us_per_request
        return taken.sample(self.request.name, subject).cpu_us_per_request / chat

    def _chunk(self, taken: Round, subject: str) -> float:
        chat = taken.sample(PACED.name, subject).cpu.run_ns
        return taken.sample(self.paced.name, subject).cpu.run_ns / chat


SURFACES = (
    Surface("Responses", "/v1/responses", _responses),
    Surface("Messages", "/v1/messages", _messages),
    Surface("native", "/native/v1/chat", _native),
)


def served_by(subject: Subject) -> tuple[Surface, ...]:
    """The surfaces that a gateway has, each with the mock's call in its answer."""
    return tuple(surface for surface in SURFACES if _answers(subject, surface))


def _answers(subject: Subject, surface: Surface) -> bool:
    for stream in (False, True):
        connection = http.client.HTTPConnection("127.0.0.1", subject.port, timeout=10)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        connection.request("POST", surface.path, surface.body(wish(20), stream=stream), headers)
        response = connection.getresponse()
        said = response.read().decode()
        connection.close()
        if response.status in (404, 405):
            return False
        if response.status != 200 or "write_file" not in said:
            raise SystemExit(f"{subject.name}, {surface.path}: {response.status} {said[:2000]}")
    return True
