"""The normalized request: what a surface passes to the gateway, and the gateway to a backend.

It is independent of any wire format. Parameters that only one kind of server understands stay JSON
(`Request.extras`) and are forwarded unchanged.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from toolwire.protocol.content import Content
from toolwire.protocol.sampling import DEFAULT_SAMPLING, ResponseFormat, SamplingParams
from toolwire.protocol.tools import FREE_CHOICE, NO_TOOLS, AssistantCall, ToolChoice, ToolSet

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]


class ChatMessage(msgspec.Struct, frozen=True):
    """One message of the conversation. `call_id` is set on tool results, and `is_error` on
    results of failed tools."""

    role: Role
    content: Content = None
    calls: tuple[AssistantCall, ...] = ()
    call_id: str = ""
    reasoning: str | None = None
    name: str | None = None
    is_error: bool = False
    encrypted_reasoning: tuple[str, ...] = ()
    """Reasoning that only the backend it came from can read."""


class Request(msgspec.Struct, frozen=True):
    """A request for one turn, from any surface."""

    model: str
    messages: tuple[ChatMessage, ...]
    tools: ToolSet = NO_TOOLS
    choice: ToolChoice = FREE_CHOICE
    parallel: bool = True
    stream: bool = False
    include_usage: bool = False
    sampling: SamplingParams = DEFAULT_SAMPLING
    response_format: ResponseFormat | None = None
    extras: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    """Other parameters as JSON, under their wire names."""
    ignored: tuple[str, ...] = ()
    adjusted: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    shows_calls: bool = False
    """Whether the client displays a call's arguments as they stream."""
    exact_calls: bool = False
    """Whether an invalid call is an error. If so, calls are delivered whole."""
    session: str = ""
    """The client's session, if it names one."""
    origin: "WireRequest | None" = None
    """The JSON that it was read from, for a backend that speaks the same API."""

    @property
    def affinity(self) -> str:
        """What requests have in common that share a prompt; empty if that is unknown."""
        key = self.extras.get("prompt_cache_key")
        return self.session if key is None else bytes(key).decode("utf-8", "replace")


class WireRequest(msgspec.Struct, frozen=True):
    """The JSON that a request was read from.

    A backend that speaks the same API gets a field unchanged, with everything that `Request` has no
    place for, unless the part of the request that was `read` from it has changed since.
    """

    wire: str
    fields: Mapping[str, bytes]
    read: Request
    headers: Mapping[str, str] = {}
    """Headers of the API, such as its version."""
    ignored: tuple[str, ...] = ()
    """What only such a backend honours."""
