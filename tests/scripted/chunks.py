"""An answer in OpenAI's form, done right: as stream chunks and as one completion.

This is the `std` variant. Everything is a fresh plain value, so variants may edit it in place.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.scripted.answer import Answer, Call, Usage
from tests.scripted.request import ChatRequest

Chunk = dict[str, Any]

CREATED = 1_700_000_000
PIECE = 9
"""Characters of arguments per delta."""


def usage_of(answer: Answer, request: ChatRequest) -> Usage:
    """Count ten per message and twenty per tool in; one per delta out."""
    if answer.usage:
        return answer.usage
    prompt = 10 * len(request.messages) + 20 * len(request.tools)
    return Usage(prompt, sum(1 for _ in _deltas(answer, request)))


def call_id(call: Call, request: ChatRequest, index: int) -> str:
    """Give the call's own id, or one that depends on the turn and the place alone."""
    return call.id or f"call_{_digest('call', request.turn, index)}"


def stream_chunks(answer: Answer, request: ChatRequest) -> list[Chunk]:
    """Write the answer as the chunks of a well-behaved server."""
    chunks = [_chunk(request, delta) for delta in _deltas(answer, request)]
    chunks.append(_chunk(request, {}, answer.finish_reason))
    if request.include_usage:
        for chunk in chunks:
            chunk["usage"] = None
        last = _envelope(request, "chat.completion.chunk")
        chunks.append({**last, "choices": [], "usage": usage_of(answer, request).to_json()})
    return chunks


def completion(answer: Answer, request: ChatRequest) -> Chunk:
    """Write the answer as one `chat.completion` object."""
    message: Chunk = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_whole_call(answer, request, i) for i in range(len(answer.calls))]
    elif not answer.text:
        message["content"] = ""
    choice = {"index": 0, "message": message, "logprobs": None}
    return {
        **_envelope(request, "chat.completion"),
        "choices": [{**choice, "finish_reason": answer.finish_reason}],
        "usage": usage_of(answer, request).to_json(),
    }


def call_deltas(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Every entry of every `tool_calls`, in order."""
    for delta in deltas(chunks):
        yield from delta.get("tool_calls") or ()


def deltas(chunks: list[Chunk]) -> Iterator[Chunk]:
    """The delta of every chunk that has one, in order."""
    for chunk in chunks:
        for choice in chunk["choices"]:
            yield choice["delta"]


def is_head(call: Chunk) -> bool:
    """Tell the first delta of a call from the later ones."""
    return "id" in call


def pieces(text: str, size: int = PIECE) -> list[str]:
    """Cut a text into pieces of one size."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def _deltas(answer: Answer, request: ChatRequest) -> Iterator[Chunk]:
    yield {"role": "assistant", "content": None if answer.calls else ""}
    for word in _words(answer.reasoning):
        yield {"reasoning_content": word}
    for word in _words(answer.text):
        yield {"content": word}
    for index in range(len(answer.calls)):
        whole = _whole_call(answer, request, index)
        arguments = whole["function"].pop("arguments")
        head = {**whole["function"], "arguments": ""}
        yield {"tool_calls": [{"index": index, **whole, "function": head}]}
        for piece in pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _whole_call(answer: Answer, request: ChatRequest, index: int) -> Chunk:
    call = answer.calls[index]
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call_id(call, request, index), "type": "function", "function": function}


def _chunk(request: ChatRequest, delta: Chunk, finish: str | None = None) -> Chunk:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_envelope(request, "chat.completion.chunk"), "choices": [choice]}


def _envelope(request: ChatRequest, kind: str) -> Chunk:
    number = _digest("completion", request.turn, request.messages)
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": CREATED,
        "model": request.model,
        "system_fingerprint": "fp_scripted",
    }


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
