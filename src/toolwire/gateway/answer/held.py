"""Events that are held back until it is known whether they may go out.

A backend may send an answer in a million pieces. To write each as an event of its own, all at once,
would take a second, so pieces that follow each other are joined while they are held.
"""

from toolwire.protocol.events import Event, ReasoningDelta, TextDelta

_PIECE = 64 * 1024
"""Characters of a joined delta. It is not joined with more, so that joining stays linear."""
_PAUSE = 1024
MOST_HELD = 30_000
"""Events that can go out at once. Those with log probabilities, or of changing kinds, cannot be
joined."""


class HeldEvents:
    """Holds events in order."""

    __slots__ = ("_events", "_join_at")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._join_at = _PAUSE

    def add(self, events: list[Event]) -> bool:
        """Hold more events. Return whether there are too many to be held."""
        held = self._events
        held += events
        if len(held) < self._join_at:
            return False
        held = self._events = _joined(held)
        self._join_at = 2 * len(held) + _PAUSE
        return len(held) > MOST_HELD

    def release(self) -> list[Event]:
        """Return all events, and hold none."""
        events, self._events = self._events, []
        return _joined(events) if len(events) > _PAUSE else events

    @property
    def text(self) -> str:
        """The text that is held."""
        return "".join(event.text for event in self._events if type(event) is TextDelta)


def _joined(events: list[Event]) -> list[Event]:
    """Join deltas that follow each other, up to a size."""
    out: list[Event] = []
    run: list[str] = []
    kind: type[TextDelta] | type[ReasoningDelta] = TextDelta
    size = 0
    for event in events:
        of = type(event)
        plain = type(event) is ReasoningDelta or (type(event) is TextDelta and not event.logprobs)
        if run and (not plain or of is not kind or size >= _PIECE):
            out.append(kind("".join(run)))
            run, size = [], 0
        if isinstance(event, TextDelta | ReasoningDelta) and plain:
            kind = type(event)
            run.append(event.text)
            size += len(event.text)
        else:
            out.append(event)
    if run:
        out.append(kind("".join(run)))
    return out
