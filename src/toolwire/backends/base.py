"""The interface of a backend: it is opened with a request, and answers in fragments."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import msgspec

from toolwire.backends.named_body import NamedBody
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import ToolSet

FragmentListener: TypeAlias = Callable[[list[Fragment]], None]
Redact: TypeAlias = Callable[[str, int], str]
"""Masks secrets in a text, and truncates it."""


def clip(text: str, limit: int) -> str:
    """A `Redact` without secrets."""
    return text[:limit]


class Constraint(msgspec.Struct, frozen=True):
    """A JSON Schema for the answer, for a backend that can constrain decoding.

    If it is `optional`, the model may also answer with plain text; only for a backend that
    `chooses`. `messages` are then the prompt for the constrained answer.
    """

    schema: bytes
    optional: bool = False
    messages: Sequence[ChatMessage] = ()


class BackendRequest(msgspec.Struct, frozen=True):
    """What a backend is sent for one turn: the checked history, and only the allowed tools."""

    request: Request
    messages: Sequence[ChatMessage]
    tools: ToolSet
    constraint: Constraint | None = None
    keep_special_tokens: bool = False
    """Call markers are special tokens, so the server should not strip them."""


class BackendTimeouts(msgspec.Struct, frozen=True):
    """How long, in seconds, a backend may be silent: before its first token, and after."""

    first_token: float = 600.0
    idle: float = 300.0


DEFAULT_TIMEOUTS = BackendTimeouts()


class Capabilities(msgspec.Struct, frozen=True):
    """What a backend can do, and what is known about its model."""

    name: str = ""
    template: str = ""
    """Its chat template."""
    has_tools: bool = True
    """False if it does not support tools."""
    own_calls: bool = False
    """Whether its API has calls of its own form. Then text is searched for calls only if the model
    is known to write them so."""
    format: str = ""
    """The format that works best for it, whatever its template says."""
    one_call: bool = False
    """Whether it should make only one call at a time."""
    marks: tuple[str, ...] = ()
    """The texts that separate turns in a prompt; they are escaped in untrusted text."""
    constrains: bool = False
    """Whether it can constrain decoding to a JSON Schema."""
    chooses: bool = False
    """Whether it can let the model choose between plain text and the JSON Schema."""
    efforts: tuple[str, ...] = ()
    """The levels of reasoning effort that it knows; empty if it does not matter."""
    wire: str = ""
    """The API it speaks, if it takes requests of that API unchanged: see `WireRequest`."""


UNKNOWN = Capabilities()


class CapabilityProbe(msgspec.Struct, frozen=True):
    """The path, at a server's root, that reports its capabilities, and how to read them.

    `read` raises `ValueError`.
    """

    path: str
    read: Callable[[bytes], Capabilities]


class Answer(Protocol):
    """A backend's answer in progress. Whoever opened it must close it."""

    async def relay(self, listener: FragmentListener) -> bool:
        """Pass fragments to `listener` as they are read, until the end.

        Returns whether the backend marked the end, rather than just closing. Raises
        `UpstreamError` if the answer is broken, and whatever the listener raises.
        """
        ...

    def pause(self) -> None:
        """Stop reading from the backend, because the client is too slow."""
        ...

    def resume(self) -> None:
        """Resume reading."""
        ...

    def close(self) -> None:
        """Release it. Before the end, this drops the connection, so that the backend stops."""
        ...


class RawAnswer(Protocol):
    """An answer that is passed on without being decoded."""

    status: int
    headers: dict[bytes, bytes]

    async def relay(self, listener: Callable[[bytes], None]) -> None:
        """Pass the body to `listener` as it arrives."""
        ...

    def pause(self) -> None:
        """Stop reading."""
        ...

    def resume(self) -> None:
        """Resume reading."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


@runtime_checkable
class PromptCounter(Protocol):
    """A backend whose server counts the tokens of a whole request."""

    async def count_prompt(self, outgoing: BackendRequest) -> int:
        """Return the number of tokens of its prompt. Raises `UpstreamError`."""
        ...


class Backend(Protocol):
    """A place where a model runs."""

    @property
    def name(self) -> str:
        """Its name in logs, metrics and headers."""
        ...

    @property
    def timeouts(self) -> BackendTimeouts:
        """How long to wait for it."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do, as far as that is known."""
        ...

    @property
    def needs_probe(self) -> bool:
        """Whether its capabilities are not known yet: `probe` it first."""
        ...

    async def probe(self) -> None:
        """Ask it for its capabilities. The backend is usable even if this fails."""
        ...

    def ignored(self, request: Request) -> list[str]:
        """The parameters of this request that are not sent to this backend."""
        ...

    async def open(self, outgoing: BackendRequest) -> Answer:
        """Send the request; returns when the answer has started. Raises `UpstreamError`."""
        ...

    async def forward(self, method: str, target: str, body: NamedBody) -> RawAnswer:
        """Send any other request, and return its raw answer. Raises `GatewayError`."""
        ...

    async def models(self) -> list[str]:
        """The names of the models that it has. Raises `UpstreamError`."""
        ...

    async def check(self) -> str:
        """Try what a turn needs besides the connection, and describe the result. Raises
        `GatewayError` if a turn would fail."""
        ...

    async def aclose(self) -> None:
        """Close connections and processes."""
        ...
