"""Encodes whole messages as one `chat.completion` body."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.gateway.answer.collect import Whole
from toolwire.protocol.tools import AssistantCall
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.chat.answer import encode_usage, join_logprobs, joined_json
from toolwire.surfaces.openai.chunks import CompletionHead

_encode = msgspec.json.Encoder().encode


class _Completion(msgspec.Struct, omit_defaults=True):
    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: Raw
    system_fingerprint: str | None = None
    service_tier: str | None = None


def encode_completion(
    head: CompletionHead,
    choices: Mapping[int, Whole],
    usage: TokenUsage,
    about: Mapping[str, str] | None = None,
) -> bytes:
    """Encode the body of an answer that is not streamed."""
    return _encode(
        _Completion(
            head.response_id,
            "chat.completion",
            head.created,
            head.model,
            [_choice(index, whole, head) for index, whole in sorted(choices.items())],
            Raw(encode_usage(usage)),
            **(about or {}),
        )
    )


def _choice(index: int, whole: Whole, head: CompletionHead) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": whole.content, "refusal": None}
    if whole.reasoning is not None:
        message["reasoning_content"] = whole.reasoning
    for name, values in whole.extras.items():
        message[name] = joined_json(values)
    if whole.calls:
        message["tool_calls"] = [_call(call, head) for call in whole.calls]
    return {
        "index": index,
        "message": message,
        "logprobs": join_logprobs(whole.logprobs),
        "finish_reason": whole.reason,
    }


def _call(call: AssistantCall, head: CompletionHead) -> dict[str, Any]:
    name = head.client_name(call.name)
    if call.kind == "custom":
        return {
            "id": call.call_id,
            "type": "custom",
            "custom": {"name": name, "input": call.arguments},
        }
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": name, "arguments": call.arguments},
    }
