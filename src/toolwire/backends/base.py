"""What the gateway knows of a backend: it can be opened, and then it speaks in fragments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import msgspec

from toolwire.backends.named_body import NamedBody
from toolwire.protocol.chat import Message, Request, ToolSet
from toolwire.protocol.fragments import Fragment

Listener: TypeAlias = Callable[[list[Fragment]], None]
Redact: TypeAlias = Callable[[str, int], str]
"""Masks secrets in the first so many characters of a text."""


def clip(text: str, limit: int) -> str:
    """The `Redact` of whoever has no secrets."""
    return text[:limit]


class Constraint(msgspec.Struct, frozen=True):
    """What the answer is held to, by a backend that can constrain decoding.

    `optional`: it may also be plain text, if the model so chooses; only for a backend that
    `chooses`. `messages` are then what the constrained answer goes on with.
    """

    schema: bytes
    optional: bool = False
    messages: Sequence[Message] = ()


class Outgoing(msgspec.Struct, frozen=True):
    """One turn as a backend is asked for it: the checked history, and only the tools allowed."""

    request: Request
    messages: Sequence[Message]
    tools: ToolSet
    constraint: Constraint | None = None
    keep_special_tokens: bool = False
    """The markers we look for are special tokens: a server that can must not strip them."""


@dataclass(frozen=True, slots=True)
class BackendTimeouts:
    """How long, in seconds, a backend may be silent: before its first word, and after."""

    first_token: float = 600.0
    idle: float = 300.0


DEFAULT_TIMEOUTS = BackendTimeouts()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do, and what it knows of its model; of one on a server, mostly nothing."""

    name: str = ""
    template: str = ""
    """Its chat template."""
    has_tools: bool = True
    """False if there is no use in offering tools to it."""
    format: str = ""
    """The format that it was found to do best in, whatever its template says."""
    one_call: bool = False
    """True if it should make one call at a time: what follows the first would be noise."""
    marks: tuple[str, ...] = ()
    """What tells turns apart in a prompt that the backend writes itself: untrusted text cannot hold
    any of it."""
    constrains: bool = False
    """Whether it can be held to a JSON Schema while it writes."""
    chooses: bool = False
    """Whether it can let the model choose between plain text and what fits a JSON Schema."""


UNKNOWN = Capabilities()


@dataclass(frozen=True, slots=True)
class Probe:
    """Where a server tells what it can do, at its root, and how that is read.

    `read` raises `ValueError`.
    """

    path: str
    read: Callable[[bytes], Capabilities]


class Answer(Protocol):
    """A backend's answer, under way. Always closed by whoever opened it."""

    async def relay(self, listener: Listener) -> bool:
        """Hand over fragments as they are read, until the end.

        Whether the backend said that it was done, rather than just closing. Raises
        `UpstreamError` if it broke, and whatever the listener raises.
        """
        ...

    def pause(self) -> None:
        """The client does not keep up: stop reading from the backend."""
        ...

    def resume(self) -> None:
        """Read again."""
        ...

    def close(self) -> None:
        """Let go. Before the end this drops the connection, so the backend stops its work."""
        ...


class RawAnswer(Protocol):
    """An answer that is not looked into."""

    status: int
    headers: dict[bytes, bytes]

    async def relay(self, listener: Callable[[bytes], None]) -> None:
        """Hand the body over as it arrives."""
        ...

    def pause(self) -> None:
        """Stop reading."""
        ...

    def resume(self) -> None:
        """Read again."""
        ...

    def close(self) -> None:
        """Let go."""
        ...


class Backend(Protocol):
    """Where a model is."""

    @property
    def name(self) -> str:
        """What it is called in logs, metrics and headers."""
        ...

    @property
    def timeouts(self) -> BackendTimeouts:
        """How long it is waited for."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do, as far as that is known."""
        ...

    @property
    def needs_probe(self) -> bool:
        """Whether its capabilities may be other than is known here: `probe` it first."""
        ...

    async def probe(self) -> None:
        """Ask it what it can do. Whatever comes of it, the backend can be used."""
        ...

    def ignored(self, request: Request) -> list[str]:
        """The parameters of this request that this backend is not sent."""
        ...

    async def open(self, outgoing: Outgoing) -> Answer:
        """Send the request; returns when the answer has begun. Raises `UpstreamError`."""
        ...

    async def forward(self, method: str, target: str, body: NamedBody) -> RawAnswer:
        """Send any other request, and hand its answer on as it is. Raises `GatewayError`."""
        ...

    async def models(self) -> list[str]:
        """The names of the models that it has. Raises `UpstreamError`."""
        ...

    async def check(self) -> str:
        """Try what a turn needs besides the connection, and say what is worth knowing. Raises
        `GatewayError` if a turn would fail."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and processes."""
        ...
