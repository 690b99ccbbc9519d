"""The stage after the policy: validates every call against its tool.

The streaming validator passes events through and validates a call when it ends. An invalid call has
already been delivered, and is only recorded. The buffering validator holds calls until the end of
the turn, then repairs and validates them. It delivers all calls or, if one is invalid, none, so
that the model can be asked again without the client noticing. Arguments that are not a JSON object
are delivered as text, if at all, because clients decode arguments.

`streaming_validator.py` and `buffered_validator.py` only report findings; `attempt.py` and
`retry.py` act on them. A turn with an unclosed call ends in `length`, whatever the backend
reported. Costly calls are deferred to the end of the turn, when `resolve` receives their results.
"""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from toolwire.gateway.repair.costly import CheckedCall, CostlyCall
from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.events import Event


class Validator(Protocol):
    """Validates the calls of one choice."""

    live: ClassVar[bool]
    """Whether arguments go out as they arrive."""

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with the calls."""
        ...

    @property
    def repairs(self) -> set[str]:
        """The names of the repairs that were made."""
        ...

    @property
    def costly(self) -> list[CostlyCall]:
        """The calls to validate in another process once the answer has ended."""
        ...

    @property
    def kept(self) -> list[str] | None:
        """The list that collects the current call's arguments, if more can simply be appended."""
        ...

    def feed(self, events: list[Event]) -> list[Event]:
        """Process events, and return those that may go out."""
        ...

    def resolve(self, checked: Sequence[CheckedCall]) -> list[Event]:
        """Take the results for the `costly` calls, and return the events that may go out now."""
        ...
