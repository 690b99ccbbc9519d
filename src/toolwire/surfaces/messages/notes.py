"""What a reader of requests has to say about one: reported in the headers of the answer."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from toolwire.errors import RequestError

_LONGEST = 300
Treatment: TypeAlias = Literal["honoured", "translated", "ignored", "refused"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done with one part of the API. The documentation is generated from these."""

    treatment: Treatment
    how: str


@dataclass(slots=True)
class Notes:
    """Names of what was ignored, adjusted and repaired, each once, in order."""

    ignored: dict[str, None] = field(default_factory=dict)
    adjusted: dict[str, None] = field(default_factory=dict)
    repairs: dict[str, None] = field(default_factory=dict)

    def ignore(self, name: str) -> None:
        """This part of the request has no effect."""
        self.ignored[name] = None

    def adjust(self, name: str) -> None:
        """This part has another value than the client gave."""
        self.adjusted[name] = None

    def repair(self, what: str) -> None:
        """Something invalid was made valid."""
        self.repairs[what] = None


def invalid(where: str, why: str) -> RequestError:
    """The request is wrong at `where`, a path such as `messages.3.content.0`. What a client wrote
    may be part of either, so they are cut."""
    where, why = where[:_LONGEST], why[:_LONGEST]
    return RequestError(f"{where}: {why}", param=where)
