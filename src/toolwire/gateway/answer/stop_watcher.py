"""Ends an answer at a stop sequence that the backend does not watch for.

Some servers take only four stop sequences. This stage looks for the others in the text, cuts the
answer off before the first one, and holds back text that may be the beginning of one.
"""

from collections.abc import Sequence

from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta, TurnEnd

SURE = 4
"""The number of stop sequences that every server takes."""


class StopWatcher:
    """Filters one choice. `met` is the stop sequence that ended it."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.met = ""
        self.repairs: set[str] = set()
        self._stops = stops
        self._held = ""
        self._calls: set[int] = set()
        """Calls that began before the end."""

    def feed(self, events: list[Event]) -> list[Event]:
        """Return the events up to the first stop sequence."""
        out: list[Event] = []
        for event in events:
            if self.met:
                self._after(event, out)
            elif type(event) is TextDelta:
                self._text(event.text, out)
            else:
                self._release(out)
                if type(event) is CallStart:
                    self._calls.add(event.index)
                out.append(event)
        return out

    def _text(self, text: str, out: list[Event]) -> None:
        text = self._held + text
        found = [(at, -len(stop), stop) for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            end, _, self.met = min(found)
            self._held = ""
        else:
            end = len(text) - max(_overlap(text, stop) for stop in self._stops)
            self._held = text[end:]
        if end:
            out.append(TextDelta(text[:end]))

    def _release(self, out: list[Event]) -> None:
        if self._held:
            out.append(TextDelta(self._held))
            self._held = ""

    def _after(self, event: Event, out: list[Event]) -> None:
        """Drop what follows the stop sequence, except the rest of a call that began before it."""
        if type(event) is TurnEnd:
            out.append(TurnEnd("stop"))
        elif isinstance(event, ArgsDelta | CallEnd) and event.index in self._calls:
            out.append(event)


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of the text with which the stop sequence begins."""
    at = text.find(stop[0], max(0, len(text) - len(stop) + 1))
    while at >= 0:
        if stop.startswith(text[at:]):
            return len(text) - at
        at = text.find(stop[0], at + 1)
    return 0
