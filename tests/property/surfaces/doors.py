"""Every surface as its clients see it: how they ask, how they read an answer, how they go on.

A door is a path of the application and one client's view of its wire. It knows nothing of the
code behind the path, so a surface that is served is tested, and one that is not yet is left out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Json = Any


class Call(NamedTuple):
    """A call as a client gets it."""

    call_id: str
    name: str
    arguments: Any


class Said(NamedTuple):
    """What an answer adds up to, whatever wire it came by."""

    text: str
    reasoning: str
    calls: tuple[tuple[str, Any], ...]


class Answer(NamedTuple):
    """An answer: what it says, its calls with their ids, and what a client sends back of it."""

    said: Said
    calls: tuple[Call, ...]
    echo: tuple[Json, ...]


class Door(Protocol):
    """One surface."""

    @property
    def path(self) -> str: ...

    def user(self, text: str) -> Json:
        """What the user says, as an entry of the history."""
        ...

    def results(self, results: Sequence[tuple[Call, str]]) -> Sequence[Json]:
        """The results of calls, as entries of the history."""
        ...

    def body(self, model: str, tools: Sequence[Json], history: Sequence[Json]) -> Json:
        """A request. `tools` are written as OpenAI's; the instructions are always the same."""
        ...

    def whole(self, body: Json) -> Answer:
        """An answer in one body."""
        ...

    def streamed(self, events: Sequence[Json]) -> Answer:
        """An answer in events."""
        ...


INSTRUCTIONS = "You are a careful assistant.\nUse tools."


def events_of(stream: bytes) -> Iterator[Json]:
    """The data of each event, whatever its framing; `[DONE]` is none."""
    for block in stream.decode().split("\n\n"):
        data = [line[6:] for line in block.split("\n") if line.startswith("data: ")]
        if data and data != ["[DONE]"]:
            yield json.loads("\n".join(data))


def _answer(text: str, reasoning: str, calls: Sequence[Call], echo: Sequence[Json]) -> Answer:
    said = Said(text, reasoning, tuple((call.name, call.arguments) for call in calls))
    return Answer(said, tuple(calls), tuple(echo))


@dataclass(frozen=True)
class Chat:
    """OpenAI's Chat Completions."""

    path: str = "/v1/chat/completions"

    def user(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def results(self, results: Sequence[tuple[Call, str]]) -> Sequence[Json]:
        return [
            {"role": "tool", "tool_call_id": call.call_id, "content": text}
            for call, text in results
        ]

    def body(self, model: str, tools: Sequence[Json], history: Sequence[Json]) -> Json:
        system = {"role": "system", "content": INSTRUCTIONS}
        body = {"model": model, "messages": [system, *history], "tools": list(tools)}
        return body if tools else {**body, "tools": None}

    def whole(self, body: Json) -> Answer:
        message = body["choices"][0]["message"]
        calls = [
            Call(call["id"], call["function"]["name"], self._arguments(call["function"]))
            for call in message.get("tool_calls") or ()
        ]
        text, reasoning = message.get("content") or "", message.get("reasoning_content") or ""
        return _answer(text, reasoning, calls, [message])

    def _arguments(self, function: Json) -> Any:
        return json.loads(function["arguments"])

    def streamed(self, events: Sequence[Json]) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for event in events:
            for choice in event["choices"]:
                self._add(message, choice["delta"])
        return self.whole({"choices": [{"message": message}]})

    def _add(self, message: dict[str, Any], delta: Json) -> None:
        for name in ("content", "reasoning_content"):
            if delta.get(name) is not None:
                message[name] = (message.get(name) or "") + delta[name]
        for call in delta.get("tool_calls", ()):
            calls = message.setdefault("tool_calls", [])
            if call["index"] == len(calls):
                function = {"name": call["function"]["name"], "arguments": ""}
                calls.append({"id": call["id"], "type": "function", "function": function})
            calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]


@dataclass(frozen=True)
class Native(Chat):
    """The native API: Chat Completions with parsed arguments, and events of its own."""

    path: str = "/native/v1/chat"

    def _arguments(self, function: Json) -> Any:
        return function["arguments"]

    def body(self, model: str, tools: Sequence[Json], history: Sequence[Json]) -> Json:
        described = [
            {
                **tool,
                "function": {
                    "description": "A tool.",
                    **tool["function"],
                    "parameters": {"type": "object", **tool["function"].get("parameters", {})},
                },
            }
            for tool in tools
        ]
        body = super().body(model, described, history)
        return body if tools else {name: body[name] for name in ("model", "messages")}

    def streamed(self, events: Sequence[Json]) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for event in events:
            if event["type"] in _NATIVE_DELTAS:
                name = _NATIVE_DELTAS[event["type"]]
                message[name] = (message.get(name) or "") + event["delta"]
            elif event["type"] == "tool_call":
                message.setdefault("tool_calls", []).append(event["tool_call"])
        assert events[-1]["type"] == "done", events[-1]
        return self.whole({"choices": [{"message": message}]})


_NATIVE_DELTAS = {"text.delta": "content", "reasoning.delta": "reasoning_content"}


@dataclass(frozen=True)
class Messages:
    """Anthropic's Messages."""

    path: str = "/v1/messages"

    def user(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def results(self, results: Sequence[tuple[Call, str]]) -> Sequence[Json]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.call_id, "content": text}
            for call, text in results
        ]
        return [{"role": "user", "content": blocks}]

    def body(self, model: str, tools: Sequence[Json], history: Sequence[Json]) -> Json:
        return {
            "model": model,
            "max_tokens": 1000,
            "thinking": {"type": "adaptive"},
            "system": INSTRUCTIONS,
            "messages": list(history),
            "tools": [
                {
                    "name": tool["function"]["name"],
                    "description": tool["function"].get("description", "A tool."),
                    "input_schema": {"type": "object", **tool["function"].get("parameters", {})},
                }
                for tool in tools
            ],
        }

    def whole(self, body: Json) -> Answer:
        blocks = body["content"]
        calls = [Call(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        thought = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
        return _answer(text, thought, calls, [{"role": "assistant", "content": blocks}])

    def streamed(self, events: Sequence[Json]) -> Answer:
        blocks: list[dict[str, Any]] = []
        for event in events:
            if event["type"] == "content_block_start":
                assert event["index"] == len(blocks)
                blocks.append({**event["content_block"], "partial": ""})
            elif event["type"] == "content_block_delta":
                self._add(blocks[event["index"]], event["delta"])
        assert events[-1]["type"] == "message_stop", events[-1]
        for block in blocks:
            partial = block.pop("partial")
            if block["type"] == "tool_use":
                block["input"] = json.loads(partial or "{}")
        return self.whole({"content": blocks})

    def _add(self, block: dict[str, Any], delta: Json) -> None:
        name = _MESSAGES_DELTAS[delta["type"]]
        block["partial" if name == "partial_json" else name] += delta[name]


_MESSAGES_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


@dataclass(frozen=True)
class Responses:
    """OpenAI's Responses, without a store: the client sends the items back, as Codex does."""

    path: str = "/v1/responses"

    def user(self, text: str) -> Json:
        content = [{"type": "input_text", "text": text}]
        return {"type": "message", "role": "user", "content": content}

    def results(self, results: Sequence[tuple[Call, str]]) -> Sequence[Json]:
        return [
            {"type": "function_call_output", "call_id": call.call_id, "output": text}
            for call, text in results
        ]

    def body(self, model: str, tools: Sequence[Json], history: Sequence[Json]) -> Json:
        return {
            "model": model,
            "instructions": INSTRUCTIONS,
            "input": list(history),
            "tools": [
                {"type": "function", "strict": False, **_flat(tool["function"])} for tool in tools
            ],
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }

    def whole(self, body: Json) -> Answer:
        items = body["output"]
        calls = [
            Call(item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in items
            if item["type"] == "function_call"
        ]
        texts = [p["text"] for i in items if i["type"] == "message" for p in i["content"]]
        return _answer("".join(texts), "".join(map(_thought, items)), calls, items)

    def streamed(self, events: Sequence[Json]) -> Answer:
        items = [e["item"] for e in events if e["type"] == "response.output_item.done"]
        last = events[-1]
        assert last["type"] == "response.completed", last
        assert last["response"]["output"] == items
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        pieces = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
        answer = self.whole({"output": items})
        assert "".join(pieces) == answer.said.text
        return answer


def _flat(function: Json) -> Json:
    return {"parameters": {}, **function}


def _thought(item: Json) -> str:
    """The reasoning of an item, in its content or its summary."""
    if item["type"] != "reasoning":
        return ""
    parts = item.get("content") or item.get("summary") or ()
    return "".join(part["text"] for part in parts)


DOORS: dict[str, Door] = {
    "chat": Chat(),
    "responses": Responses(),
    "messages": Messages(),
    "native": Native(),
}
