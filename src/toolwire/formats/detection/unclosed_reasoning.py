"""The calls at the end of reasoning that was never closed, in whatever format they are.

As in a known format (`framing.py`), a call in reasoning counts only if it is the last thing the
model wrote. This is known at the end of the turn. By then the reasoning has been sent, with the
text of the calls. Only text in which there is a call is read character by character, to know what
follows it.
"""

from collections.abc import Callable

from toolwire.formats.detection.detect import Detection
from toolwire.formats.detection.detector import OutputDetector
from toolwire.protocol.events import CallEnd, CallStart, Event, ReasoningDelta, TextDelta

_MOST = 8_192  # characters at the end of the reasoning in which calls are looked for
_DRAFTS = 8  # readings of what follows a draft, each with a new detector
_TAIL = 64  # characters that show whether the answer ends as the reasoning does
_ENDS = (">", "]", ")", "}", "`", "[")  # how calls and the tokens behind them end


class UnclosedReasoning:
    """Keeps the reasoning of a turn. `make` makes a detector for a part of it."""

    __slots__ = ("_make", "_pieces", "_tail")

    def __init__(self, make: Callable[[], OutputDetector]) -> None:
        self._make = make
        self._pieces: list[str] = []
        self._tail = ""

    def see(self, written: str, events: list[Event]) -> None:
        """Take note of what the model wrote, and what was read from it."""
        self._pieces += [event.text for event in events if isinstance(event, ReasoningDelta)]
        self._tail = (self._tail + written)[-_TAIL:]

    def calls(self) -> tuple[list[Event], Detection] | None:
        """Return the calls that the answer ends with, and their format, if it ends in reasoning."""
        text = "".join(self._pieces)[-_MOST:]
        if not text.rstrip().endswith(_ENDS) or not self._tail.endswith(text[-_TAIL // 2 :]):
            return None
        if not _finds_any(self._make(), text):
            return None
        for _ in range(_DRAFTS + 1):
            events, detector, end = _read(self._make(), text)
            called: list[Event] = [
                e for e in events if not isinstance(e, TextDelta | ReasoningDelta)
            ]
            if detector.found is None or not called:
                return None
            if end == len(text):
                complete = all(e.complete for e in called if isinstance(e, CallEnd))
                return (called, detector.found) if complete else None
            text = text[end:]
        return None


def _finds_any(detector: OutputDetector, text: str) -> bool:
    """Whether there is a call at all. All of the text at once is read much faster."""
    detector.feed(text)
    return detector.found is not None or bool(detector.finish() and detector.found)


def _read(detector: OutputDetector, text: str) -> tuple[list[Event], OutputDetector, int]:
    """Read calls up to the first text behind one. Return the end of the last one, or of the text if
    nothing follows."""
    events: list[Event] = []
    end = 0
    for position, char in enumerate(text, 1):
        new = detector.feed(char)
        events += new
        if any(isinstance(event, CallEnd) for event in new):
            end = position
        elif end and any(isinstance(event, TextDelta) and event.text.strip() for event in new):
            return events, detector, end
    new = detector.finish()
    spoken = any(isinstance(event, TextDelta) and event.text.strip() for event in new)
    begun = any(isinstance(event, CallStart) for event in new)
    return [*events, *new], detector, end if end and spoken and not begun else len(text)
