"""Reads a server's answer, and rejects what violates the API."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolwire.conformance.calls import ExtractedToolCall, FunctionCall
from toolwire.conformance.deltas import DeltaFunctionCall, DeltaMessage, DeltaToolCall
from toolwire.conformance.endpoint.client import Reply, Streamed
from toolwire.conformance.endpoint.trial import Fault, require
from toolwire.conformance.faults import InvalidEntity, InvalidStream
from toolwire.conformance.reconstructor import StreamingToolReconstructor


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """One turn of the model."""

    content: str
    calls: tuple[ExtractedToolCall, ...]
    finish_reason: str | None
    usage: Any = None

    @property
    def names(self) -> list[str]:
        """The names of the called tools."""
        return [call.function.name for call in self.calls]


def whole(reply: Reply) -> EndpointAnswer:
    """Read an answer that was not streamed."""
    require(reply.status == 200, reply.error_message)
    choice = _member(_member(reply.body, "choices", list), 0, dict)
    message = _member(choice, "message", dict)
    given = message.get("tool_calls") or []
    require(isinstance(given, list), f"tool_calls is {given!r}, not a list")
    calls = tuple(_call(one) for one in given)
    content = message.get("content") or ""
    require(isinstance(content, str), f"content is {content!r}, not text or null")
    return EndpointAnswer(content, calls, choice.get("finish_reason"), reply.body.get("usage"))


def streamed(stream: Streamed) -> EndpointAnswer:
    """Read a streamed answer, and check the protocol."""
    if stream.reply is not None:
        raise Fault(stream.reply.error_message)
    require(bool(stream.chunks), "the stream holds no event")
    rebuilt = StreamingToolReconstructor()
    finish: str | None = None
    try:
        for delta, reason in _deltas(stream.chunks):
            if delta is not None:
                rebuilt.append_delta(delta)
            finish = reason or finish
        calls = tuple(rebuilt.tool_calls)
    except (InvalidStream, InvalidEntity) as error:
        raise Fault(str(error)) from None
    require(stream.done, "the stream does not end with [DONE]")
    return EndpointAnswer(rebuilt.other_content, calls, finish, usage_of(stream.chunks))


def usage_of(chunks: Iterable[Any]) -> Any:
    """Return the last usage in a stream."""
    found = [chunk["usage"] for chunk in chunks if isinstance(chunk, dict) and chunk.get("usage")]
    return found[-1] if found else None


def _call(value: Any) -> ExtractedToolCall:
    function = _member(value, "function", dict)
    arguments = function.get("arguments")
    require(
        isinstance(arguments, str),
        f"arguments must be a string of JSON, not {type(arguments).__name__}",
    )
    try:
        call = ExtractedToolCall(
            str(value.get("id") or ""),
            FunctionCall(str(function.get("name") or ""), str(arguments)),
            value.get("type"),
        )
        require(isinstance(call.function.decoded(), dict), f"arguments are no object: {arguments}")
    except InvalidEntity as error:
        raise Fault(str(error)) from None
    return call


def _deltas(chunks: Iterable[Any]) -> Iterator[tuple[DeltaMessage | None, str | None]]:
    for chunk in chunks:
        require(isinstance(chunk, dict), f"an event is not JSON: {str(chunk)[:80]}")
        require("error" not in chunk, f"the stream broke: {chunk.get('error')}")
        for choice in _member(chunk, "choices", list):
            yield _delta(choice.get("delta") or {}), choice.get("finish_reason")


def _delta(delta: Mapping[str, Any]) -> DeltaMessage | None:
    pieces = tuple(_piece(one) for one in delta.get("tool_calls") or ())
    content = _text(delta, "content")
    if content is None and not pieces:
        return None
    return DeltaMessage(content=content, tool_calls=pieces or None)


def _piece(value: Mapping[str, Any]) -> DeltaToolCall:
    function = value.get("function") or {}
    index = value.get("index")
    if not isinstance(index, int):
        raise Fault(f"a piece of a call has the index {index!r}, not a number")
    inner = DeltaFunctionCall(_text(function, "name"), _text(function, "arguments"))
    return DeltaToolCall(index, _text(value, "id"), value.get("type"), inner)


def _text(value: Mapping[str, Any], key: str) -> str | None:
    """Return a member that is text, null or missing."""
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        raise Fault(f"{key} of a delta must be a string, not {type(found).__name__}")
    return found


def _member(value: Any, key: str | int, kind: type[Any]) -> Any:
    """Return a required member."""
    try:
        found = value[key]
    except (KeyError, IndexError, TypeError):
        raise Fault(f"the answer has no {key!r}") from None
    require(isinstance(found, kind), f"{key!r} is {type(found).__name__}, not {kind.__name__}")
    return found
