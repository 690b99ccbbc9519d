"""What each kind of OpenAI-compatible server supports: one table for all differences.

A dialect says which request parameters are forwarded and under which name, and which form a server
requires for call ids, roles and reasoning. How a request is encoded is not part of it.

A parameter is listed when the server documents it and when a client may safely set it. Left out
on purpose are those that reach into the server: chat templates, grammars and regular expressions,
adapters, logit processors, token id lists, priorities, cache transfer.
A configuration can add any of them with `params_add`.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from toolwire.backends.base import CapabilityProbe
from toolwire.backends.openai import llamacpp
from toolwire.backends.openai.detection import AUTO
from toolwire.protocol.effort import EFFORTS

CallIds: TypeAlias = Literal["openai", "mistral", "kimi", "anthropic", "keep"]
MaxTokens: TypeAlias = Literal["max_tokens", "max_completion_tokens", "max_output_tokens", "both"]
ConstraintKind: TypeAlias = Literal[
    "none", "json_schema", "structured_outputs", "guided_json", "grammar"
]
ThinkingSwitch: TypeAlias = Literal["none", "template", "flag", "object", "effort", "rendered"]
ToolChoiceKind: TypeAlias = Literal["auto", "none", "required", "named"]


_EFFORTS = ("none", "low", "medium", "high")
_OPENAI_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
MANY = 64
"""More stop sequences than any client sends."""
_CHOICES: frozenset[ToolChoiceKind] = frozenset({"auto", "none", "required", "named"})


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of server.

    `params` are the names that clients use, and `renames` maps them to the server's own.
    `tool_choices` are the forms of tool_choice that the server honours; it refuses any other or,
    worse, treats it as "auto". `message_names` says whether a user's message may have a name.
    """

    name: str
    params: frozenset[str]
    renames: Mapping[str, str] = msgspec.field(default_factory=lambda: MappingProxyType({}))
    call_ids: CallIds = "keep"
    reasoning_in_history: bool = False
    developer_role: bool = False
    message_names: bool = True
    efforts: tuple[str, ...] = _EFFORTS
    """The levels of `reasoning_effort` that it knows. Others are replaced by the nearest one."""
    thinking: ThinkingSwitch = "none"
    """How it is told whether to think: by the chat template's variables, `enable_thinking`,
    `thinking` or the effort `none`. The last two are sent only to switch it off: some models of
    these servers refuse to think, or require what they thought in all of the conversation.
    `rendered`: Toolwire renders the template itself, with these variables."""
    stops: int = 4
    """The most stop sequences it takes. The gateway watches for the others."""
    files: bool = False
    """Whether it takes files, such as PDFs, in messages."""
    strips_special_tokens: bool = False
    """It leaves special tokens out of its text unless `skip_special_tokens: false` is sent, and may
    then put a space on both sides of each unless `spaces_between_special_tokens: false` is, too."""
    tool_choices: frozenset[ToolChoiceKind] = _CHOICES
    constraint: ConstraintKind = "json_schema"
    """How the server takes a JSON Schema for its answer."""
    tokenizes: bool = False
    """Whether it has `/tokenize`, at its root."""
    probe: CapabilityProbe | None = None
    """How to ask it what its model can do."""
    note: str = ""

    @property
    def max_tokens(self) -> MaxTokens:
        """Which of the names for the token limit the server takes."""
        if self.renames.get("max_completion_tokens") == "max_tokens":
            return "max_tokens"
        if self.renames.get("max_tokens") == "max_completion_tokens":
            return "max_completion_tokens"
        return "max_output_tokens" if "max_tokens" in self.renames else "both"

    def forwarded_as(self, param: str) -> str | None:
        """The name under which the server takes `param`; None if it is not forwarded."""
        return self.renames.get(param, param) if param in self.params else None

    def with_params(self, add: Iterable[str], remove: Iterable[str]) -> "Dialect":
        """The same dialect with more, or fewer, parameters forwarded."""
        return replace(self, params=self.params.union(add).difference(remove))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OLD_LIMIT = MappingProxyType({"max_completion_tokens": "max_tokens"})
_NEW_LIMIT = MappingProxyType({"max_tokens": "max_completion_tokens"})
_OUTPUT_LIMIT = MappingProxyType(
    {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
)

_CORE = _names(
    "model messages stream tools max_tokens max_completion_tokens temperature top_p stop "
    "response_format"
)
_PENALTIES = _names("presence_penalty frequency_penalty")
_GENERIC = _CORE | _PENALTIES | _names("stream_options tool_choice seed")
_SAMPLING = _GENERIC | _names(
    "parallel_tool_calls n logit_bias logprobs top_logprobs user reasoning_effort"
)
_OPENAI = _SAMPLING | _names(
    "audio metadata modalities moderation prediction prompt_cache_key prompt_cache_options "
    "prompt_cache_retention safety_identifier service_tier store verbosity web_search_options"
)

_ALL = (
    Dialect(
        name=AUTO,
        files=True,
        efforts=_OPENAI_EFFORTS,
        params=_OPENAI,
        call_ids="openai",
        developer_role=True,
        note="The default: the server is asked what it is, before the first request with tools "
        "or with a parameter that only some servers accept. If it is unknown, `openai` is used.",
    ),
    Dialect(
        name="openai",
        files=True,
        efforts=_OPENAI_EFFORTS,
        params=_OPENAI,
        call_ids="openai",
        developer_role=True,
        note="Every parameter of OpenAI's chat completions.",
    ),
    Dialect(
        name="generic",
        params=_GENERIC,
        renames=_OLD_LIMIT,
        constraint="none",
        note="What practically every compatible server accepts; for one that refuses the rest.",
    ),
    Dialect(
        name="vllm",
        thinking="template",
        stops=MANY,
        tokenizes=True,
        params=_SAMPLING
        | _names(
            "top_k min_p repetition_penalty length_penalty min_tokens thinking_token_budget "
            "include_reasoning cache_salt chat_template_kwargs"
        ),
        strips_special_tokens=True,
        reasoning_in_history=True,
        constraint="structured_outputs",
        note='For a model with Mistral\'s tokenizer set call_ids = "mistral", for Kimi "kimi". '
        'Before 0.11 set constraint = "guided_json".',
    ),
    Dialect(
        name="sglang",
        thinking="template",
        stops=MANY,
        tokenizes=True,
        params=_SAMPLING
        | _names(
            "top_k min_p repetition_penalty min_tokens reasoning separate_reasoning "
            "stream_reasoning cache_salt chat_template_kwargs"
        ),
        strips_special_tokens=True,
        reasoning_in_history=True,
        note='For Kimi set call_ids = "kimi".',
    ),
    Dialect(
        name="llamacpp",
        thinking="template",
        stops=MANY,
        tokenizes=True,
        params=_SAMPLING
        | _names(
            "top_k min_p typical_p repeat_penalty repeat_last_n mirostat mirostat_tau "
            "mirostat_eta dynatemp_range dynatemp_exponent xtc_probability xtc_threshold "
            "dry_multiplier dry_base dry_allowed_length dry_penalty_last_n cache_prompt "
            "chat_template_kwargs"
        ),
        renames=_OLD_LIMIT,
        reasoning_in_history=True,
        tool_choices=_CHOICES - {"named"},
        constraint="grammar",
        probe=llamacpp.PROBE,
        note="Older versions support tools only with --jinja. A named tool_choice is treated as "
        "auto. Toolwire asks it whether its model supports tools.",
    ),
    Dialect(
        name="ollama",
        thinking="effort",
        stops=MANY,
        params=_GENERIC - {"tool_choice"} | _names("logprobs top_logprobs reasoning_effort"),
        renames=_OLD_LIMIT,
        tool_choices=frozenset(),
        note="Does not support tool_choice.",
    ),
    Dialect(
        name="lmstudio",
        stops=MANY,
        params=_GENERIC | _names("top_k repeat_penalty logit_bias reasoning_effort ttl"),
        renames=_OLD_LIMIT,
        tool_choices=_CHOICES - {"named"},
        note="Refuses a named tool_choice.",
    ),
    Dialect(
        name="lmdeploy",
        thinking="flag",
        stops=MANY,
        params=_SAMPLING - {"parallel_tool_calls"}
        | _names(
            "top_k min_p repetition_penalty min_new_tokens enable_thinking chat_template_kwargs"
        ),
        strips_special_tokens=True,
        reasoning_in_history=True,
        note="Has tools only with --tool-call-parser.",
    ),
    Dialect(
        name="tgi",
        params=_GENERIC | _names("n logit_bias logprobs top_logprobs user"),
        renames=_OLD_LIMIT,
        note="Text Generation Inference.",
    ),
    Dialect(
        name="mistral",
        efforts=("none", "high"),
        stops=MANY,
        params=_CORE
        | _PENALTIES
        | _names(
            "tool_choice parallel_tool_calls n seed random_seed safe_prompt prediction "
            "prompt_mode prompt_cache_key reasoning_effort"
        ),
        renames=MappingProxyType({**_OLD_LIMIT, "seed": "random_seed"}),
        call_ids="mistral",
        message_names=False,
        note="Refuses every unknown parameter.",
    ),
    Dialect(
        name="openrouter",
        files=True,
        efforts=EFFORTS,
        params=_SAMPLING - {"n"}
        | _names(
            "top_k top_a min_p repetition_penalty metadata modalities prediction prompt_cache_key "
            "service_tier reasoning provider session_id verbosity"
        ),
        call_ids="openai",
        developer_role=True,
        note="`models` is not forwarded: clients could bypass the routes with it.",
    ),
    Dialect(
        name="deepseek",
        thinking="object",
        efforts=EFFORTS[1:],
        stops=16,
        params=_CORE
        | _PENALTIES
        | _names("stream_options tool_choice logprobs top_logprobs thinking reasoning_effort"),
        renames=_OLD_LIMIT,
        reasoning_in_history=True,
        constraint="none",
        note="Requires the reasoning of a turn to be sent back with the results of its calls.",
    ),
    Dialect(
        name="moonshot",
        thinking="object",
        params=_CORE - {"temperature", "top_p"}
        | _names(
            "stream_options tool_choice thinking reasoning_effort prompt_cache_key "
            "safety_identifier"
        ),
        renames=_NEW_LIMIT,
        call_ids="kimi",
        reasoning_in_history=True,
        tool_choices=frozenset({"auto", "none"}),
        constraint="none",
        note="Kimi models refuse sampling parameters, and a forced tool_choice while they think; "
        "for moonshot-v1 use `params_add`.",
    ),
    Dialect(
        name="anthropic",
        files=True,
        stops=MANY,
        params=_CORE | _names("tool_choice parallel_tool_calls top_k user"),
        renames=_OLD_LIMIT,
        call_ids="anthropic",
        message_names=False,
        constraint="none",
        note="A server with Anthropic's Messages API (`/v1/messages`), such as Claude. The key is "
        "sent as `x-api-key`. A client of the same API keeps all of its own fields; for others, "
        "thinking is not asked for, because they cannot keep its signatures. Without a token "
        "limit, it is 8,192.",
    ),
    Dialect(
        name="responses",
        files=True,
        params=_CORE - {"stop"}
        | _names(
            "max_output_tokens tool_choice parallel_tool_calls logprobs top_logprobs "
            "reasoning_effort verbosity metadata prompt_cache_key prompt_cache_retention "
            "safety_identifier service_tier user"
        ),
        renames=_OUTPUT_LIMIT,
        efforts=_OPENAI_EFFORTS,
        call_ids="openai",
        developer_role=True,
        message_names=False,
        constraint="none",
        note="A server with OpenAI's Responses API (`/v1/responses`), for one that has no chat "
        "completions, or for models that reason only there. The conversation is sent whole, with "
        "`store: false`. Reasoning is sent back only if it is encrypted, for clients of the "
        "Responses API.",
    ),
)

DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in _ALL})
