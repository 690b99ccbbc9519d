"""What the gateway knows of a backend: it can be opened, and then it speaks in fragments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import msgspec

from toolwire.protocol.chat import Message, Request, ToolSet
from toolwire.protocol.fragments import Fragment

Listener: TypeAlias = Callable[[list[Fragment]], None]
Redact: TypeAlias = Callable[[str, int], str]
"""Masks secrets in the first so many characters of a text."""


def clip(text: str, limit: int) -> str:
    """The `Redact` of whoever has no secrets."""
    return text[:limit]


class Outgoing(msgspec.Struct, frozen=True):
    """One turn as a backend is asked for it: the checked history, and only the tools allowed."""

    request: Request
    messages: Sequence[Message]
    tools: ToolSet
    schema: bytes = b""
    """JSON Schema that the answer must fit, for a backend that can constrain decoding."""
    optional: bool = False
    """The answer may also be plain text, if the model so chooses."""
    messages_for_schema: Sequence[Message] = ()
    """The conversation to go on with once it has chosen not to, if that is another one."""
    keep_special_tokens: bool = False
    """The markers we look for are special tokens: a server that can must not strip them."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long, in seconds, a backend may be silent: before its first word, and after."""

    first_token: float = 600.0
    idle: float = 300.0


DEFAULT_PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a backend knows of its model by itself. Of one on a server that is mostly nothing."""

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
    """What tells turns apart in a prompt that the backend writes itself: no text of others may
    hold any of it."""


UNKNOWN_MODEL = ModelFacts()


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


class Backend(Protocol):
    """Where a model is."""

    @property
    def name(self) -> str:
        """What it is called in logs, metrics and headers."""
        ...

    @property
    def patience(self) -> Patience:
        """How long it is waited for."""
        ...

    @property
    def facts(self) -> ModelFacts:
        """What it knows of its model."""
        ...

    @property
    def unmet(self) -> bool:
        """Whether it may know more of its model than is known here: `meet` it first."""
        ...

    async def meet(self) -> None:
        """Ask it for `facts`, if it has any. Whatever comes of it, the backend can be used."""
        ...

    @property
    def constrains(self) -> bool:
        """Whether it can be held to a JSON Schema while it writes."""
        ...

    def chooses(self, request: Request) -> bool:
        """Whether it can let the model choose here: plain text, or what fits a JSON Schema."""
        ...

    def ignored(self, request: Request) -> list[str]:
        """The parameters of this request that this backend is not sent."""
        ...

    async def open(self, outgoing: Outgoing) -> Answer:
        """Send the request; returns when the answer has begun. Raises `UpstreamError`."""
        ...
