"""What each kind of OpenAI-compatible server takes: a table, so that nothing else has to ask.

A dialect says which request parameters are forwarded, and in which form a server wants call
ids, token limits and roles. How a request is written in a dialect is not said here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

CallIds: TypeAlias = Literal["openai", "mistral", "kimi", "keep"]
MaxTokens: TypeAlias = Literal["max_tokens", "max_completion_tokens", "both"]
Constraint: TypeAlias = Literal["none", "json_schema", "structured_outputs", "grammar"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of server."""

    name: str
    params: frozenset[str]
    call_ids: CallIds = "keep"
    max_tokens: MaxTokens = "both"
    reasoning_in_history: bool = False
    developer_role: bool = False
    constraint: Constraint = "none"
    note: str = ""

    def with_params(self, add: Iterable[str], remove: Iterable[str]) -> "Dialect":
        """The same dialect with more, or fewer, parameters forwarded."""
        return replace(self, params=(self.params | set(add)) - set(remove))

    def rename(self, param: str) -> str:
        """The name under which this server takes `param`: only token limits differ."""
        if param in ("max_tokens", "max_completion_tokens") and self.max_tokens != "both":
            return self.max_tokens
        return param


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GENERIC = _names(
    "model messages stream stream_options tools tool_choice max_tokens temperature top_p stop "
    "seed presence_penalty frequency_penalty response_format"
)
_OPENAI = _GENERIC | _names(
    "audio logit_bias logprobs max_completion_tokens metadata modalities n parallel_tool_calls "
    "prediction prompt_cache_key prompt_cache_retention reasoning_effort safety_identifier "
    "service_tier store top_logprobs user verbosity web_search_options"
)

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("openai", _OPENAI, call_ids="openai", developer_role=True),
        Dialect("generic", _GENERIC, max_tokens="max_tokens"),
    )
}
