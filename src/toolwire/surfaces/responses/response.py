"""The response object: its constant and its changing fields."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwire.protocol.usage import Usage
from toolwire.surfaces.responses.fields import ResponsesParams
from toolwire.surfaces.responses.kinds import Fields

_ECHOED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "previous_response_id": None,
    "prompt_cache_key": None,
    "prompt_cache_retention": None,
    "safety_identifier": None,
    "service_tier": None,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": None,
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}
"""Fields that are echoed to the client, with their defaults."""
_LONG: Fields = {"tools": [], "instructions": None}
"""Fields omitted from progress events: clients send tens of kilobytes in them, and do not read them
there."""


@dataclass(slots=True)
class ResponseHead:
    """The fields of a response that are known before the answer."""

    response_id: str
    created: int
    echo: Fields = field(default_factory=dict)
    short: bool = False
    """Whether long fields are never echoed."""

    def object(
        self,
        status: str,
        output: Sequence[Fields] = (),
        *,
        usage: Usage | None = None,
        short: bool = False,
        **more: Any,
    ) -> Fields:
        """Return the current response object."""
        return {
            "id": self.response_id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": False,
            "completed_at": None,
            "error": None,
            "incomplete_details": None,
            **self.echo,
            **(_LONG if short or self.short else {}),
            "output": output,
            "usage": usage_object(usage) if usage is not None else None,
            **more,
        }


def echo_of(params: ResponsesParams, *, stored: bool, parallel: bool) -> Fields:
    """Return the request fields that every response object echoes."""
    echo = {name: params.raws.get(name, default) for name, default in _ECHOED.items()}
    reasoning, text = params.values.get("reasoning"), params.values.get("text")
    echo["model"] = params.values["model"]
    echo["store"] = stored
    echo["parallel_tool_calls"] = parallel
    echo["reasoning"] = {
        "effort": reasoning.effort if reasoning is not None else None,
        "summary": reasoning.summary if reasoning is not None else None,
    }
    shown: Any = {"format": {"type": "text"}}
    if text is not None:
        shown = params.raws["text"] if text.format is not None else _with_format(text.verbosity)
    echo["text"] = shown
    return echo


def _with_format(verbosity: str | None) -> Fields:
    return {"format": {"type": "text"}, "verbosity": verbosity}


def usage_object(usage: Usage) -> Fields:
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
