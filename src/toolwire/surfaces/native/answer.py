"""Converts the model's turn to a response body, or to the events of a stream."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import UNSET, Raw, UnsetType

from toolwire.gateway.answer.collect import Whole
from toolwire.gateway.report import Report
from toolwire.protocol.tools import AssistantCall
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.chat.answer import encode_usage, join_logprobs, joined_json
from toolwire.surfaces.native.wire import (
    AnswerChoice,
    AnsweredCall,
    AnsweredFunction,
    AnswerMessage,
    AnswerWarning,
    ChatResponse,
    DoneEvent,
    Event,
    ReasoningDeltaEvent,
    TextDeltaEvent,
    ToolCallEvent,
    UsageEvent,
)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ChatResponse).decode
_ESTIMATED = AnswerWarning("usage_estimated", "The backend reported no usage: these are estimates.")


class AnswerHead(msgspec.Struct):
    """The fields of an answer that are known in advance."""

    response_id: str
    created: int
    model: str
    conversation_id: str | None = None
    warnings: list[AnswerWarning] = msgspec.field(default_factory=list)


def warnings_of(head: AnswerHead, report: Report, ignored: Iterable[str]) -> list[AnswerWarning]:
    """Return the warnings of an answer."""
    found = [*head.warnings]
    for name in ignored:
        text = f"The parameter '{name}' is unknown, or the backend does not support it."
        found.append(AnswerWarning("parameter_ignored", text, name))
    for repair in sorted(report.repairs):
        what, _, where = repair.partition(":")
        if what == "strict_ignored":
            text = f"'strict' of '{where}' is ignored: every call is checked against its schema."
            found.append(AnswerWarning(what, text, "tools"))
        else:
            found.append(AnswerWarning("repaired", repair))
    if report.usage is None:
        found.append(_ESTIMATED)
    return found


def chat_response(
    head: AnswerHead, whole: Whole, usage: TokenUsage, warnings: list[AnswerWarning]
) -> ChatResponse:
    """The body of an answer."""
    message = AnswerMessage(
        "assistant",
        whole.content,
        [answered(call) for call in whole.calls] if whole.calls else UNSET,
        whole.reasoning or UNSET,
        refusal_of(whole),
    )
    logprobs = join_logprobs(whole.logprobs) if whole.logprobs else None
    raw = UNSET if logprobs is None else Raw(_encode(logprobs))
    return ChatResponse(
        head.response_id,
        "chat.completion",
        head.created,
        head.model,
        [AnswerChoice(0, message, whole.reason, raw)],
        Raw(encode_usage(usage)),
        head.conversation_id,
        warnings,
    )


def answered(call: AssistantCall) -> AnsweredCall:
    """Return a call with its arguments as an object. They were validated before."""
    text = call.arguments if call.arguments.strip() else "{}"
    arguments = msgspec.json.format(text.encode(), indent=-1)  # an event is one line
    return AnsweredCall(call.call_id, "function", AnsweredFunction(call.name, Raw(arguments)))


def refusal_of(whole: Whole) -> str | UnsetType:
    """Return the model's refusal, if any."""
    said = joined_json(whole.extras.get("refusal", []))
    return said if isinstance(said, str) and said else UNSET


def encode_event(event: Event) -> bytes:
    """Encode one event of a stream."""
    kind = event.__struct_config__.tag
    return b"event: %b\ndata: %b\n\n" % (str(kind).encode(), _encode(event))


def done_event(response: ChatResponse, call_map: str | None = None) -> DoneEvent:
    """Encode the last event of a stream."""
    choice = response.choices[0]
    return DoneEvent(
        response.id,
        response.created,
        response.model,
        choice.finish_reason,
        response.conversation_id,
        response.warnings,
        choice.message.refusal,
        call_map or UNSET,
    )


def replayed(stored: bytes) -> Sequence[Event]:
    """Replay a stored answer as a stream: the same text, reasoning and calls, in fewer chunks."""
    response = _decode(stored)
    choice = response.choices[0]
    message, events = choice.message, list[Event]()
    if message.reasoning_content:
        events.append(ReasoningDeltaEvent(message.reasoning_content))
    if message.content:
        events.append(TextDeltaEvent(message.content, choice.logprobs))
    for index, call in enumerate(message.tool_calls or ()):
        events.append(ToolCallEvent(index, call))
    return [*events, UsageEvent(response.usage), done_event(response)]
