"""A strict reader of answers: what no OpenAI client should have to forgive is an error here."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.gateway.wire import Reply

CALL_ID = re.compile(r"call_[0-9a-f]{32}")
RESPONSE_ID = re.compile(r"chatcmpl-[0-9a-f]{32}")
REASONS = {"stop", "length", "tool_calls", "content_filter"}
CHUNK_KEYS = {"id", "object", "created", "model", "choices"}
ABOUT = {"system_fingerprint", "service_tier"}
"""What a backend may say of its answer."""
CHOICE_KEYS = {"index", "delta", "logprobs", "finish_reason"}
MESSAGE_KEYS = {"role", "content", "refusal", "reasoning_content", "tool_calls"}


@dataclass
class Outcome:
    """What an answer says, streamed or not, without what is different each time."""

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    finish: str | None = None
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    status: int = 200

    @property
    def said(self) -> tuple[str, str, list[tuple[str, str]], str | None]:
        """All that a model has said, to compare."""
        return self.content, self.reasoning, self.calls, self.finish


def read(reply: Reply, *, include_usage: bool = False) -> Outcome:
    """Read any answer, and check everything about it that can be checked."""
    kind = reply.headers["content-type"]
    if reply.status != 200:
        assert kind == "application/json"
        assert reply.complete
        return Outcome(error=reply.error, status=reply.status)
    if kind.startswith("text/event-stream"):
        return _StreamReader(include_usage).read(reply)
    return _read_whole(reply)


class _StreamReader:
    def __init__(self, include_usage: bool) -> None:
        self.outcome = Outcome()
        self._include_usage = include_usage
        self._envelope: dict[str, Any] = {}
        self._ids: list[str] = []
        self._ended = False

    def read(self, reply: Reply) -> Outcome:
        *blocks, rest = reply.body.decode().split("\n\n")
        assert rest == "", "the last event is not complete"
        events = [block.removeprefix("data: ") for block in blocks if block != ": keepalive"]
        assert not [block for block in blocks if not block.startswith(("data: ", ": keepalive"))]
        last = events.pop()
        for event in events:
            self._event(json.loads(event))
        if last == "[DONE]":
            assert reply.complete, "the body was cut off after [DONE]"
            self._check_end()
        else:
            assert reply.complete, "the body was cut off after the error"
            self.outcome.error = Reply(200, {}, last.encode()).error
            assert self.outcome.finish is None, "finished, and then an error"
        return self.outcome

    def _event(self, chunk: dict[str, Any]) -> None:
        self._check_envelope(chunk)
        if not chunk["choices"]:
            assert self._include_usage
            assert self._ended, "usage before the end"
            assert self.outcome.usage is None, "usage twice"
            self.outcome.usage = check_usage(chunk["usage"])
            return
        assert not self._ended, "more after the finish reason"
        assert chunk.get("usage") is None
        (choice,) = chunk["choices"]
        assert set(choice) == CHOICE_KEYS
        assert choice["index"] == 0
        if choice["finish_reason"] is None:
            self._delta(choice["delta"])
        else:
            assert choice["delta"] == {}
            assert choice["finish_reason"] in REASONS
            self.outcome.finish = choice["finish_reason"]
            self._ended = True

    def _check_envelope(self, chunk: dict[str, Any]) -> None:
        notes = (ABOUT | {"toolwire"}) & set(chunk)
        usage = {"usage"} if self._include_usage else set()
        assert set(chunk) == CHUNK_KEYS | usage | notes, chunk
        envelope = {key: chunk[key] for key in ("id", "object", "created", "model")}
        if not self._envelope:
            self._envelope = envelope
            assert RESPONSE_ID.fullmatch(chunk["id"])
            assert chunk["object"] == "chat.completion.chunk"
            assert type(chunk["created"]) is int
            assert chunk["choices"][0]["delta"].pop("role") == "assistant"
            assert "content" in chunk["choices"][0]["delta"]
        assert envelope == self._envelope

    def _delta(self, delta: dict[str, Any]) -> None:
        assert set(delta) <= {"content", "reasoning_content", "tool_calls"}, delta
        self.outcome.content += delta.get("content") or ""
        self.outcome.reasoning += delta.get("reasoning_content") or ""
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                self._call_start(call)
            else:
                self._call_goes_on(call)

    def _call_start(self, call: dict[str, Any]) -> None:
        assert set(call) == {"index", "id", "type", "function"}
        assert set(call["function"]) == {"name", "arguments"}
        assert call["type"] == "function"
        assert call["index"] == len(self._ids)
        assert CALL_ID.fullmatch(call["id"])
        assert call["id"] not in self._ids
        self._ids.append(call["id"])
        self.outcome.calls.append((call["function"]["name"], call["function"]["arguments"]))

    def _call_goes_on(self, call: dict[str, Any]) -> None:
        assert set(call) == {"index", "function"}
        assert set(call["function"]) == {"arguments"}
        assert call["index"] == len(self._ids) - 1, "not the call that is open"
        assert call["function"]["arguments"], "an empty delta"
        name, so_far = self.outcome.calls[-1]
        self.outcome.calls[-1] = (name, so_far + call["function"]["arguments"])

    def _check_end(self) -> None:
        check_finish(self.outcome)
        assert (self.outcome.usage is not None) == self._include_usage


def _read_whole(reply: Reply) -> Outcome:
    assert reply.headers["content-type"] == "application/json"
    assert reply.complete
    body = reply.json
    assert set(body) - ABOUT == CHUNK_KEYS | {"usage"}
    assert RESPONSE_ID.fullmatch(body["id"])
    assert body["object"] == "chat.completion"
    assert type(body["created"]) is int
    (choice,) = body["choices"]
    assert set(choice) == {"index", "message", "logprobs", "finish_reason"}
    message = choice["message"]
    assert {"role", "content"} <= set(message) <= MESSAGE_KEYS
    assert message["role"] == "assistant"
    outcome = Outcome(
        content=message["content"] or "",
        reasoning=message.get("reasoning_content", ""),
        calls=[_whole_call(call) for call in message.get("tool_calls", ())],
        finish=choice["finish_reason"],
        usage=check_usage(body["usage"]),
    )
    assert message.get("tool_calls") != []
    assert (message["content"] is None) == bool(outcome.calls and not outcome.content)
    ids = [call["id"] for call in message.get("tool_calls", ())]
    assert len(set(ids)) == len(ids)
    check_finish(outcome)
    return outcome


def _whole_call(call: dict[str, Any]) -> tuple[str, str]:
    assert set(call) == {"id", "type", "function"}
    assert CALL_ID.fullmatch(call["id"])
    assert call["type"] == "function"
    assert set(call["function"]) == {"name", "arguments"}
    return call["function"]["name"], call["function"]["arguments"]


def check_finish(outcome: Outcome) -> None:
    """There is a finish reason, and it agrees with the calls."""
    assert outcome.finish in REASONS
    if outcome.finish in ("stop", "tool_calls"):
        assert outcome.finish == ("tool_calls" if outcome.calls else "stop")


def check_usage(usage: dict[str, Any]) -> dict[str, Any]:
    """The figures are numbers and the total is their sum."""
    prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
    assert type(prompt) is int
    assert type(completion) is int
    assert usage["total_tokens"] == prompt + completion
    return usage


def check_arguments(outcome: Outcome) -> None:
    """The arguments of every call are one JSON object."""
    for name, arguments in outcome.calls:
        assert isinstance(json.loads(arguments), dict), (name, arguments)
