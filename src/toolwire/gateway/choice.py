"""One choice of an answer: the stages that it passes, in their order.

Theory of operation. A reader makes events of what the backend said: `native.py`, or where text may
hold calls, `text_calls.py`. Every stage behind it has one shape: events in, the events that may go
on out. The policy comes first, then the check of arguments.

Nearly every chunk of a stream of calls is more arguments of the call in turn, and all that is left
to do with it is to follow its JSON and to keep it for the check. So when each stage says that it
would let the rest of a call pass, a `FastPath` through all of them is made, once. It is at the head
of the chain, and there is no other: whatever is not such a chunk ends it and goes the usual way.
"""

from dataclasses import dataclass
from typing import Protocol

from toolwire.gateway.native import NativeReader
from toolwire.gateway.policy import Policy
from toolwire.gateway.repair.validation import Validator
from toolwire.protocol.events import ArgsDelta, Event
from toolwire.protocol.fragments import Fragment


class Reading(Protocol):
    """What makes events of what the backend said."""

    @property
    def repairs(self) -> set[str]:
        """What was repaired."""
        ...

    @property
    def called(self) -> bool:
        """Whether the backend has made a call itself."""
        ...

    @property
    def flowing(self) -> NativeReader | None:
        """Who reads the call in turn, if more arguments of it would come out as they come in."""
        ...

    def feed(self, fragment: Fragment) -> list[Event]:
        """Take what the backend said next."""
        ...

    def finish(self, *, done: bool) -> list[Event]:
        """The answer is over."""
        ...


class Stage(Protocol):
    """What events pass on their way out."""

    @property
    def repairs(self) -> set[str]:
        """What was repaired."""
        ...

    def feed(self, events: list[Event]) -> list[Event]:
        """The events that may go on."""
        ...


@dataclass(frozen=True, slots=True)
class FastPath:
    """How more arguments of one call pass all the stages at once."""

    reader: NativeReader
    index: int
    """The number that the client knows the call by."""
    kept: list[str]
    """Where its arguments are kept for the check."""
    live: bool
    """Whether they go out at once."""


class Choice:
    """The stages of one choice."""

    __slots__ = ("_fast", "_stages", "policy", "reading", "validator")

    def __init__(self, reading: Reading, policy: Policy, validator: Validator | None) -> None:
        self.reading = reading
        self.policy = policy
        self.validator = validator
        self._stages: tuple[Stage, ...] = (policy,) if validator is None else (policy, validator)
        self._fast: FastPath | None = None

    def feed(self, fragment: Fragment) -> list[Event]:
        """What may go out after what the backend said next."""
        fast = self._fast
        if fast is not None:
            text = fast.reader.more(fragment)
            if text is not None:
                fast.kept.append(text)
                return [ArgsDelta(fast.index, text)] if fast.live and text else []
            self._fast = None
        events = self.reading.feed(fragment)
        for stage in self._stages:
            if events:
                events = stage.feed(events)
        if fragment.calls:
            self._fast = self._fast_path()
        return events

    def finish(self, *, done: bool) -> list[Event]:
        """What may go out at the end."""
        events = self.reading.finish(done=done)
        for stage in self._stages:
            events = stage.feed(events)
        return events

    def _fast_path(self) -> FastPath | None:
        reader, validator = self.reading.flowing, self.validator
        if reader is None or validator is None:
            return None
        index, kept = self.policy.number(reader.in_turn), validator.kept
        if index is None or kept is None:
            return None
        return FastPath(reader, index, kept, validator.live)

    @property
    def repairs(self) -> set[str]:
        """What was repaired."""
        return self.reading.repairs.union(*[stage.repairs for stage in self._stages])
