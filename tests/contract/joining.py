"""Puts a stream back together the way a client does, and checks the chunk contract meanwhile."""

from dataclasses import dataclass, field
from typing import Any

COMMON = ("id", "object", "created", "model")


@dataclass
class Joined:
    """One choice of a stream: the message it adds up to."""

    content: str | None = None
    reasoning: str | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None
    deltas: int = 0


def join(chunks: list[Any]) -> dict[int, Joined]:
    """Add up the chunks of a stream; any breach of the contract fails."""
    choices: dict[int, Joined] = {}
    for chunk in chunks:
        assert {key: chunk[key] for key in COMMON} == {key: chunks[0][key] for key in COMMON}
        assert chunk["object"] == "chat.completion.chunk"
        for choice in chunk["choices"]:
            assert set(choice) == {"index", "delta", "logprobs", "finish_reason"}
            joined = choices.setdefault(choice["index"], Joined())
            assert joined.finish_reason is None, "a delta after the end of its choice"
            _add(joined, choice["delta"])
            joined.finish_reason = choice["finish_reason"]
            if joined.finish_reason is not None:
                assert choice["delta"] == {}
    return choices


def _add(joined: Joined, delta: dict[str, Any]) -> None:
    assert ("role" in delta) == (joined.deltas == 0), "the role comes once, and first"
    joined.deltas += 1
    assert delta.get("role", "assistant") == "assistant"
    if delta.get("content") is not None:
        joined.content = (joined.content or "") + delta["content"]
    if "reasoning_content" in delta:
        joined.reasoning = (joined.reasoning or "") + delta["reasoning_content"]
    for call in delta.get("tool_calls", ()):
        _add_call(joined.calls, call)


def _add_call(calls: list[dict[str, Any]], delta: dict[str, Any]) -> None:
    delta = {key: value for key, value in delta.items() if key != "call_id"}
    kind = delta.get("type") or calls[delta["index"]]["type"]
    text = {"function": "arguments", "custom": "input"}[kind]
    if "id" in delta:
        assert delta["index"] == len(calls), "calls are numbered 0, 1, 2, ..."
        assert set(delta) == {"index", "id", "type", kind}
        assert delta[kind][text] == ""
        assert set(delta[kind]) == {"name", text}
        calls.append({"id": delta["id"], "type": kind, kind: dict(delta[kind])})
    else:
        assert delta["index"] == len(calls) - 1, "calls come one after the other"
        assert set(delta) == {"index", kind}
        assert set(delta[kind]) == {text}
        calls[-1][kind][text] += delta[kind][text]


def whole(body: Any) -> dict[int, Joined]:
    """The same of an answer that was not streamed."""
    choices = {}
    for choice in body["choices"]:
        message = choice["message"]
        choices[choice["index"]] = Joined(
            message["content"],
            message.get("reasoning_content"),
            message.get("tool_calls", []),
            choice["finish_reason"],
        )
    return choices


def same(streamed: dict[int, Joined], at_once: dict[int, Joined]) -> bool:
    """Whether two answers say the same: a stream has no other way to say "no text" than silence."""
    return {index: _said(choice) for index, choice in streamed.items()} == {
        index: _said(choice) for index, choice in at_once.items()
    }


def _said(choice: Joined) -> tuple[Any, ...]:
    return choice.content or "", choice.reasoning, choice.calls, choice.finish_reason
