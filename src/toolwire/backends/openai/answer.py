"""Decodes the chunks of an OpenAI-compatible answer, chat or plain completion, into fragments."""

from collections.abc import Sequence
from typing import Any

import msgspec

from toolwire.backends.base import Redact, clip
from toolwire.backends.body_decoder import BodyDecoder, check_count
from toolwire.backends.openai.error_kinds import unnamed_error
from toolwire.backends.openai.tolerant import tolerate
from toolwire.protocol.fragments import (
    CONTEXT_FULL,
    ENDED_BY,
    MOST_CALLS,
    MOST_CHOICES,
    STOPPED_BY,
    CallFragment,
    Fragment,
)
from toolwire.protocol.json_numbers import SteadyDecoder, decode_any
from toolwire.protocol.usage import TokenUsage, reported_usage

_MESSAGE_EXTRAS = ("refusal", "annotations", "audio")
_THOUGHTS = ("thinking", "reasoning")
"""Types of content parts that are reasoning: Mistral's and Databricks'."""
_THOUGHT_FIELDS = ("thinking", "text", "summary")
_FULL = "model_length"
"""Mistral: the finish reason for a full context."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None
    parameters: Any = None


class _Custom(msgspec.Struct):
    name: str | None = None
    input: str | None = None


class _Call(msgspec.Struct):
    index: int | str | None = None
    id: str | None = None
    type: str | None = None
    function: _Function | None = None
    custom: _Custom | None = None
    name: str | None = None
    arguments: Any = None
    parameters: Any = None


class _Delta(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    thinking: str | None = None
    reasoning_details: list[Any] | None = None
    """OpenRouter beside `reasoning`; MiniMax alone."""
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    audio: dict[str, Any] | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    delta: _Delta | None = None
    message: _Delta | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None
    stop_reason: Any = None
    """vLLM: the stop sequence that matched, or the id of a stop token."""
    matched_stop: Any = None
    """SGLang: the same."""
    error: Any = None
    """OpenRouter: why the choice ended."""


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: dict[str, Any] | None = None
    completion_tokens_details: dict[str, Any] | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


_NEEDED = frozenset(
    {"choices", "delta", "message", "content", "text", "tool_calls", "function_call", "function"}
    | {"custom", "name", "input", "index"}
)
"""Fields that are part of the answer. Other fields of a chunk may have any type."""
_strict = msgspec.json.Decoder(_Chunk).decode
_strict_long = SteadyDecoder(_Chunk).decode
_LONG = 512
"""Bytes from which on slow numbers matter. Nearly all chunks are shorter."""
_encode = msgspec.json.Encoder().encode
_NOTHING = _Delta()


class AnswerDecoder(BodyDecoder):
    """Decodes one answer."""

    _told = False
    """Whether the first chunk has been read, which says what the server is."""

    def __init__(self, *, max_line: int, streamed: bool = True, redact: Redact = clip) -> None:
        super().__init__(max_line=max_line, streamed=streamed, redact=redact)
        self._said: set[int] = set()
        """The choices whose text came in deltas."""

    def _event(self, data: bytes) -> list[Fragment]:
        try:
            chunk = _strict(data) if len(data) < _LONG else _strict_long(data)
        except msgspec.ValidationError:
            chunk = tolerate(decode_any(data), _Chunk, _NEEDED)
        if chunk.error:
            raise self._failure(chunk.error)
        choices = chunk.choices or ()
        if not choices and (chunk.usage is None or b"base_resp" in data):
            self._check_unnamed_error(data)
        if len(choices) == 1:
            fragments = [_fragment(choices[0], self._said)]
        else:
            _check_width(choices)
            fragments = [_fragment(choice, self._said) for choice in choices]
        if choices:
            last = choices[-1]
            if last.index:
                self._choices.update(choice.index for choice in choices)
            if last.finish_reason:
                fragments += self._ending(last)
        if not self._told:
            self._told = True
            if chunk.system_fingerprint or chunk.service_tier:
                fragments.append(Fragment(about=_about(chunk)))
        if chunk.usage is not None and (usage := _usage(chunk.usage)) is not None:
            fragments.append(Fragment(usage=usage))
        return fragments

    def _ending(self, choice: _Choice) -> list[Fragment]:
        """Return why a choice has ended, if its finish reason does not tell."""
        if choice.error:
            raise self._failure(choice.error)
        met = choice.stop_reason or choice.matched_stop
        if met and isinstance(met, str):
            return [Fragment(about=((STOPPED_BY, met),))]
        if choice.finish_reason == _FULL:
            return [Fragment(about=((ENDED_BY, CONTEXT_FULL),))]
        return []

    def _check_unnamed_error(self, data: bytes) -> None:
        """Raise if a chunk is an error without an `error` around it."""
        error = unnamed_error(decode_any(data))
        if error is not None:
            raise self._failure(error)


def _check_width(choices: Sequence[_Choice]) -> None:
    """Refuse an answer with so many parts that processing would block the event loop."""
    check_count(len(choices), MOST_CHOICES, "choices")
    deltas = [choice.delta or choice.message or _NOTHING for choice in choices]
    calls = sum(len(delta.tool_calls) for delta in deltas if delta.tool_calls)
    check_count(calls, MOST_CALLS, "tool calls")


def _about(chunk: _Chunk) -> tuple[tuple[str, str], ...]:
    about = []
    if chunk.system_fingerprint:
        about.append(("system_fingerprint", chunk.system_fingerprint))
    if chunk.service_tier:
        about.append(("service_tier", chunk.service_tier))
    return tuple(about)


def _usage(usage: _Usage) -> TokenUsage | None:
    return reported_usage(
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.prompt_tokens_details,
        usage.completion_tokens_details,
    )


def _fragment(choice: _Choice, said: set[int]) -> Fragment:
    delta = choice.delta or choice.message or _NOTHING
    calls: tuple[CallFragment, ...] = ()
    if delta.tool_calls:
        if choice.delta is None:
            calls = _whole_calls(delta.tool_calls)
        elif len(delta.tool_calls) == 1:
            calls = (_call(delta.tool_calls[0]),)
        else:
            check_count(len(delta.tool_calls), MOST_CALLS, "tool calls")
            calls = tuple([_call(call) for call in delta.tool_calls])
    elif delta.function_call is not None:
        # The form from before 2023, which some servers still send.
        calls = (CallFragment(0, None, delta.function_call.name, delta.function_call.arguments),)
    extras: tuple[tuple[str, bytes], ...] = ()
    if not (delta.refusal is None and delta.annotations is None and delta.audio is None):
        extras = _extras(delta)
    text = delta.content or choice.text
    reasoning = delta.reasoning_content or delta.reasoning or delta.thinking or ""
    if text is not None and not isinstance(text, str):
        text, thought = _parts(text)
        reasoning += thought
    if delta.reasoning_details and not reasoning:
        reasoning = "".join(map(_thought, delta.reasoning_details))
    if text:
        if choice.delta is not None:
            said.add(choice.index)
        elif choice.index in said and choice.message is not None:
            text = reasoning = ""  # the complete message repeats the deltas
    return Fragment(
        choice.index,
        text or "",
        reasoning,
        calls,
        choice.finish_reason or None,
        None,
        _encode(choice.logprobs) if choice.logprobs else b"",
        extras,
    )


def _whole_calls(calls: list[_Call]) -> tuple[CallFragment, ...]:
    """Return the calls of a complete message: one per entry, whatever its index or id."""
    if len(calls) > 1:
        check_count(len(calls), MOST_CALLS, "tool calls")
    for at, call in enumerate(calls):
        call.index = at
    return tuple([_call(call) for call in calls])


def _extras(delta: _Delta) -> tuple[tuple[str, bytes], ...]:
    values = [(name, getattr(delta, name)) for name in _MESSAGE_EXTRAS]
    return tuple((name, _encode(value)) for name, value in values if value)


def _call(call: _Call) -> CallFragment:
    index, function = call.index, call.function
    if isinstance(index, str):
        index = int(index) if index.isdecimal() and len(index) < 10 else None
    if call.custom is not None:
        return CallFragment(index, call.id, call.custom.name, call.custom.input, custom=True)
    # Some servers write the function's fields beside it, or `parameters` for its arguments.
    given = call if function is None else function
    arguments = given.parameters if given.arguments is None else given.arguments
    return CallFragment(index, call.id, given.name or call.name, arguments)


def _parts(parts: list[Any]) -> tuple[str, str]:
    """Split a list of content parts into text and reasoning."""
    text: list[str] = []
    thought: list[str] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        if part.get("type") in _THOUGHTS:
            thought.append(_thought(part))
        else:
            text.append(_parts_text(part.get("text")))
    return "".join(text), "".join(thought)


def _parts_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return _parts(value)[0] if isinstance(value, list) else ""


def _thought(part: object) -> str:
    """Return the text of a part that is reasoning."""
    if not isinstance(part, dict):
        return ""
    texts = (_parts_text(part.get(field)) for field in _THOUGHT_FIELDS)
    return next(filter(None, texts), "")
