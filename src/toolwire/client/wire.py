"""Decodes answers and chunks: directly by type, which is fast, or after normalizing them.

Servers omit fields, write null, send arguments as an object, or text as a list of parts. An answer
is rejected only if it cannot be normalized.
"""

from typing import Any, TypeVar
from uuid import uuid4

import msgspec

from toolwire.client.answer import Chunk, Completion
from toolwire.client.errors import APIError, BadAnswer, ServerError

T = TypeVar("T")
_SHOWN = 300
_OTHER_NAMES = (b'"function_call"', b'"reasoning"')
"""Alternative names of fields."""
_completion = msgspec.json.Decoder(Completion)
_chunk = msgspec.json.Decoder(Chunk)


def read_completion(body: bytes) -> Completion:
    """Decode a whole answer. Raises `APIError` for an error body, `BadAnswer` for anything else."""
    try:
        answer = _completion.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        answer = _mended(body, Completion)
    if any(word in body for word in _OTHER_NAMES):
        answer = _mended(body, Completion)
    if not answer.choices:
        raise BadAnswer(f"The answer has no choices: {shown(body)}")
    answer.__dict__["body"] = body
    return answer


def read_chunk(data: bytes) -> Chunk:
    """Decode one chunk of a stream."""
    if data.startswith(b'{"error"'):
        raise _error(msgspec.json.decode(data))
    try:
        chunk = _chunk.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _mended(data, Chunk)
    # Every field of a chunk has a default, so an error would decode as an empty chunk.
    return chunk if chunk.choices or chunk.usage or chunk.id else _mended(data, Chunk)


def read_error(data: bytes) -> APIError:
    """Decode the `error` event of a stream."""
    try:
        return _error(msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _error(shown(data))


def error_of(body: Any, status: int | None = None) -> tuple[str, dict[str, Any]]:
    """Return the message and the other fields of an error body, in any common format."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, str):
        return error, {}
    if isinstance(error, dict):
        message = error.get("message") or error.get("msg") or error.get("detail")
        facts = {key: _text(error.get(key)) for key in ("type", "code", "param")}
        return (message if isinstance(message, str) else _json(message or error)), facts
    return f"The server answered with status {status} and no message.", {}


def new_call_id() -> str:
    """Return an id for a call without one."""
    return f"call_{uuid4().hex}"


def _mended(data: bytes, kind: type[T]) -> T:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise BadAnswer(f"The server did not answer with JSON: {shown(data)}") from None
    if isinstance(value, dict) and value.get("error"):
        raise _error(value)
    try:
        return msgspec.convert(_normal(value), kind, strict=False)
    except (msgspec.ValidationError, AttributeError, TypeError) as error:
        raise BadAnswer(
            f"The server did not answer as OpenAI does ({error}): {shown(data)}"
        ) from None


def _error(body: Any) -> APIError:
    message, facts = error_of(body)
    return ServerError(message, body=body, **facts)


def _normal(value: dict[str, Any]) -> dict[str, Any]:
    """Normalize an answer: drop nulls, and normalize each choice."""
    value = _without_nulls(value)
    for choice in value.get("choices", ()):
        if "message" in choice:
            choice["message"] = _normal_message(choice["message"])
        elif "delta" in choice:
            _normal_delta(choice["delta"])
    return value


def _normal_message(message: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, **message}
    if old := message.pop("function_call", None):
        message["tool_calls"] = [{"function": old}]
    _normal_delta(message)
    for call in message.get("tool_calls", ()):
        call.setdefault("id", new_call_id())
        call["function"] = {"name": "", "arguments": "", **call.get("function", {})}
    return message


def _normal_delta(delta: dict[str, Any]) -> None:
    if isinstance(delta.get("content"), list):
        delta["content"] = "".join(part.get("text", "") for part in delta["content"])
    if "reasoning" in delta:
        delta.setdefault("reasoning_content", delta["reasoning"])
    functions = [call.get("function") or {} for call in delta.get("tool_calls", ())]
    for function in (*functions, delta.get("function_call") or {}):
        if not isinstance(function.get("arguments", ""), str):
            function["arguments"] = _json(function["arguments"])


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def shown(data: bytes) -> str:
    """Return the beginning of a server's response, for an error message."""
    text = data[:_SHOWN].decode("utf-8", "backslashreplace")
    return repr(text) + ("..." if len(data) > _SHOWN else "")
