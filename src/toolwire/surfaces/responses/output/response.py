"""The response object: its constant and its changing fields.

A stream contains it three times, and most of it repeats what the client sent. So the constant
fields are encoded once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.responses.kinds import Fields
from toolwire.surfaces.responses.request.fields import ResponsesParams

_ECHOED: Fields = {
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "previous_response_id": None,
    "prompt_cache_key": None,
    "prompt_cache_retention": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": None,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "top_logprobs": None,
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}
"""Fields that are echoed to the client, with their defaults."""
_LONG = {"tools": b"[]", "instructions": b"null"}
"""Fields omitted from progress events: clients send tens of kilobytes in them, and do not read them
there."""
_START = b'{"id":"%b","object":"response","created_at":%d,%b,'
_encode = msgspec.json.Encoder().encode


def _members(fields: Fields) -> bytes:
    """Encode fields as the members of a JSON object, without its braces."""
    return _encode(fields)[1:-1]


def _end(long: Mapping[str, bytes]) -> tuple[bytes, ...]:
    """Return the long fields, in pieces, so that they are not copied again and again."""
    tools, instructions = (long.get(name, blank) for name, blank in _LONG.items())
    return b',"tools":', tools, b',"instructions":', instructions, b"}"


_SHORT_END = _end({})
_DEFAULTS = _members(_ECHOED)


class ResponseHead:
    """The fields of a response that are known before the answer."""

    def __init__(
        self, response_id: str, created: int, echo: bytes, long: Mapping[str, bytes]
    ) -> None:
        """`echo` are members of a JSON object, and `long` those that may be large."""
        self.response_id = response_id
        self.created = created
        self._start = _START % (response_id.encode(), created, echo)
        self._end = _end(long) if long else _SHORT_END

    def encode(self, fields: Fields) -> bytes:
        """Encode a response with these fields, and the constant ones."""
        return b"".join(self.pieces(fields))

    def pieces(self, fields: Fields, *, short: bool = False) -> Sequence[bytes]:
        """Encode a response, as bytes to join. Long fields are omitted if `short`."""
        end = _SHORT_END if short else self._end
        return self._start, _members(fields), *end


def response_fields(
    status: str,
    output: Sequence[Fields] = (),
    *,
    stored: bool = False,
    usage: TokenUsage | None = None,
    **more: Any,
) -> Fields:
    """Return the fields of a response that change."""
    return {
        "status": status,
        "background": False,
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "output": output,
        "store": stored,
        "usage": usage_object(usage) if usage is not None else None,
        **more,
    }


def echo_of(params: ResponsesParams, *, parallel: bool) -> bytes:
    """Return the request fields that every response object echoes, as members of its JSON."""
    about = {"model": params.values["model"], "parallel_tool_calls": parallel}
    if _ECHOED.keys().isdisjoint(params.raws):
        return _members(about) + b"," + _DEFAULTS
    given = {name: Raw(_one_line(raw)) for name, raw in params.raws.items() if name in _ECHOED}
    echo = {**about, **_ECHOED, **given}
    reasoning, text = params.values.get("reasoning"), params.values.get("text")
    if reasoning is not None:
        echo["reasoning"] = {"effort": reasoning.effort, "summary": reasoning.summary}
    if text is not None and text.format is None:
        echo["text"] = {"format": {"type": "text"}, "verbosity": text.verbosity}
    return _members(echo)


def long_echo_of(params: ResponsesParams) -> dict[str, bytes]:
    """Return the request fields that are echoed, and may be large, as JSON."""
    return {name: _one_line(params.raws[name]) for name in _LONG if name in params.raws}


def _one_line(raw: Raw) -> bytes:
    """Return the client's JSON without line breaks: each would end a line of the event stream."""
    json = bytes(raw)
    return msgspec.json.format(json, indent=-1) if b"\n" in json or b"\r" in json else json


def usage_object(usage: TokenUsage) -> Fields:
    """Return the usage with both details objects, which clients require."""
    details = usage.prompt_details
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": min(usage.cached_tokens, usage.prompt_tokens),
            "cache_write_tokens": details.get("cache_write_tokens", 0),
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {
            "reasoning_tokens": min(usage.reasoning_tokens, usage.completion_tokens)
        },
        "total_tokens": usage.total_tokens,
    }
