"""One choice of an answer, and the stages that process it.

Theory of operation. A reader turns backend fragments into events: `native.py`, or `text_calls.py`
if text may contain calls. Each later stage takes events and returns those that may go out. The
policy comes first, then the validator.

Most chunks of a streamed call only add arguments to the current call. Such a chunk needs no more
than JSON tracking and a copy for the validator. So once every stage would pass the rest of a call
through, `ChoicePipeline` creates a `FastPath` that bypasses them. Any other chunk ends the fast
path and is processed normally.
"""

from typing import Protocol

import msgspec

from toolwire.gateway.answer.native import NativeReader
from toolwire.gateway.answer.policy import Policy
from toolwire.gateway.answer.stop_watcher import StopWatcher
from toolwire.gateway.repair.validation import Validator
from toolwire.protocol.events import ArgsDelta, Event
from toolwire.protocol.fragments import Fragment


class Reading(Protocol):
    """Turns the fragments of a backend into events."""

    @property
    def repairs(self) -> set[str]:
        """The names of the repairs that were made."""
        ...

    @property
    def called(self) -> bool:
        """Whether the backend has made a native call."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the backend has given a finish reason, and no call is incomplete."""
        ...

    @property
    def in_text_call(self) -> bool:
        """Whether the text so far ends within something like a call, which is held back."""
        ...

    @property
    def flowing(self) -> NativeReader | None:
        """The reader of the current call, if its arguments pass through unchanged."""
        ...

    def feed(self, fragment: Fragment) -> list[Event]:
        """Process the next fragment."""
        ...

    def finish(self, *, done: bool) -> list[Event]:
        """Process the end of the answer."""
        ...


class Stage(Protocol):
    """Filters or changes events before they go out."""

    @property
    def repairs(self) -> set[str]:
        """The names of the repairs that were made."""
        ...

    def feed(self, events: list[Event]) -> list[Event]:
        """Return the events that may go out."""
        ...


class AnswerOpening(Protocol):
    """Reads the beginning of an answer, and may find that nothing needs reading behind it."""

    @property
    def plain(self) -> bool:
        """Whether the rest is plain text."""
        ...


class FastPath(msgspec.Struct, frozen=True):
    """Passes further arguments of one call around all stages."""

    reader: NativeReader
    index: int
    """The index of the call as the client sees it."""
    kept: list[str]
    """Where the validator collects the arguments."""
    live: bool
    """Whether the arguments go out immediately."""


class ChoicePipeline:
    """The stages of one choice."""

    __slots__ = (
        "_calling", "_fast", "_opening", "_stages", "policy", "reading", "stops", "validator",
    )  # fmt: skip

    def __init__(
        self,
        reading: Reading,
        policy: Policy,
        validator: Validator | None,
        stops: StopWatcher | None = None,
        opening: tuple[AnswerOpening, Reading] | None = None,
    ) -> None:
        """`opening`: what reads the beginning, and what reads the rest if that is plain text."""
        self.reading = reading
        self._opening = opening
        self.policy = policy
        self.validator = validator
        self.stops = stops
        stages: tuple[Stage, ...] = (policy,) if validator is None else (policy, validator)
        self._stages = stages if stops is None else (stops, *stages)
        self._fast: FastPath | None = None
        self._calling = False

    def feed(self, fragment: Fragment) -> list[Event]:
        """Process the next fragment, and return the events that may go out."""
        if self._calling:
            self._calling = False
            self._fast = self._fast_path()
        fast = self._fast
        if fast is not None:
            text = fast.reader.more(fragment)
            if text is not None:
                fast.kept.append(text)
                return [ArgsDelta(fast.index, text)] if fast.live and text else []
            self._fast = None
        events = self.reading.feed(fragment)
        if self._opening is not None and self._opening[0].plain:
            self.reading, self._opening = self._opening[1], None
        for stage in self._stages:
            if events:
                events = stage.feed(events)
        self._calling = bool(fragment.calls)
        return events

    def finish(self, *, done: bool) -> list[Event]:
        """Process the end of the answer, and return the last events."""
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
        """The names of the repairs that were made."""
        repairs = self.reading.repairs
        for stage in self._stages:
            if stage.repairs:
                repairs = repairs | stage.repairs
        return repairs
