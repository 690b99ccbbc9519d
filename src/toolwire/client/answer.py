"""A model's answer, with the shape of OpenAI's objects: `answer.choices[0].message.tool_calls`."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct


class Function(Struct):
    """The function to call. `arguments` is JSON text, as the model wrote it."""

    name: str
    arguments: str


class ToolCall(Struct):
    """One call that the model requests."""

    id: str
    function: Function
    type: str = "function"


class Message(Struct, omit_defaults=True):
    """The model's message. It can be appended to `messages` unchanged."""

    role: str
    content: str | None
    tool_calls: list[ToolCall] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None


class Choice(Struct):
    """One of the answers. There are several if `n` was set."""

    message: Message
    index: int = 0
    finish_reason: str | None = None
    logprobs: Any = None


class PromptTokensDetails(Struct):
    """A breakdown of the prompt tokens."""

    cached_tokens: int | None = None


class CompletionTokensDetails(Struct):
    """A breakdown of the completion tokens."""

    reasoning_tokens: int | None = None


class Usage(Struct):
    """The token usage of a request."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None

    def __post_init__(self) -> None:
        # Some servers omit the total.
        self.total_tokens = self.total_tokens or self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.total_tokens + other.total_tokens,
        )


class Completion(Struct, dict=True):
    """A whole answer. `headers` and `raw` give access to everything else."""

    choices: list[Choice]
    id: str = ""
    created: int = 0
    model: str = ""
    object: str = "chat.completion"
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None

    @property
    def message(self) -> Message:
        """The message of the first choice."""
        return self.choices[0].message

    @property
    def text(self) -> str:
        """The text of the first choice; empty if there is none."""
        return self.message.content or ""

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls of the first choice; empty if there are none."""
        return self.message.tool_calls or []

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the response, with names in lower case."""
        headers: Mapping[str, str] = self.__dict__.get("headers", {})
        return headers

    @property
    def raw(self) -> Any:
        """The raw response body; None for a streamed answer."""
        body = self.__dict__.get("body")
        return None if body is None else msgspec.json.decode(body)


class FunctionDelta(Struct):
    """The next piece of a call."""

    name: str | None = None
    arguments: str | None = None


class CallDelta(Struct):
    """The next piece of call `index`: its id and name once, then its arguments in pieces."""

    index: int | None = None
    id: str | None = None
    function: FunctionDelta | None = None
    type: str | None = None


class Delta(Struct):
    """What a chunk adds to the message."""

    content: str | None = None
    tool_calls: list[CallDelta] | None = None
    role: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    function_call: FunctionDelta | None = None


class ChunkChoice(Struct):
    """What a chunk adds to choice `index`."""

    delta: Delta = msgspec.field(default_factory=Delta)
    index: int = 0
    finish_reason: str | None = None
    logprobs: Any = None


class Chunk(Struct):
    """One piece of a streamed answer. The last one may have `usage` and no choices."""

    choices: list[ChunkChoice] = msgspec.field(default_factory=list)
    id: str = ""
    created: int = 0
    model: str = ""
    object: str = "chat.completion.chunk"
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None

    @property
    def text(self) -> str:
        """What this chunk adds to the text of the first choice."""
        return (self.choices[0].delta.content or "") if self.choices else ""
