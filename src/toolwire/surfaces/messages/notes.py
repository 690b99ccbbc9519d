"""Notes about how a request was interpreted, reported in the response headers."""

from typing import Literal, TypeAlias

import msgspec

from toolwire.errors import RequestError

_LONGEST = 300
Treatment: TypeAlias = Literal["honoured", "translated", "ignored", "refused"]


class Rule(msgspec.Struct, frozen=True):
    """How one part of the API is handled. The documentation is generated from these."""

    treatment: Treatment
    how: str


class Notes(msgspec.Struct):
    """Names of ignored, adjusted and repaired parts, without duplicates, in order."""

    ignored: dict[str, None] = msgspec.field(default_factory=dict)
    adjusted: dict[str, None] = msgspec.field(default_factory=dict)
    repairs: dict[str, None] = msgspec.field(default_factory=dict)

    def ignore(self, name: str) -> None:
        """Note that this part of the request has no effect."""
        self.ignored[name] = None

    def adjust(self, name: str) -> None:
        """Note that this part's value was changed."""
        self.adjusted[name] = None

    def repair(self, what: str) -> None:
        """Note that something invalid was repaired."""
        self.repairs[what] = None


def invalid(where: str, why: str) -> RequestError:
    """Return the error for an invalid value at `where`, such as `messages.3.content.0`.

    Both texts may quote the client, so they are cut.
    """
    where, why = where[:_LONGEST], why[:_LONGEST]
    return RequestError(f"{where}: {why}", param=where)
