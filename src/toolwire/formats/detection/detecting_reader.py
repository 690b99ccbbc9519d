"""Reads text in the expected format, and detects calls in any other format.

If the answer begins with a marker that only one format writes, that format reads it instead of the
expected one. The first format with a call reads the rest of the turn alone. Detection stops once a
model's format is both known and observed: from then on, calls in another format count as
quotations.
"""

import re
from collections.abc import Callable

from toolwire.formats.detection.announcements import AnswerBeginning
from toolwire.formats.detection.detect import Detection
from toolwire.formats.detection.detector import OutputDetector
from toolwire.formats.detection.unclosed_reasoning import UnclosedReasoning
from toolwire.formats.text_reader import MarkedReader
from toolwire.formats.trace import Trace
from toolwire.protocol.events import CallStart, Event, TextDelta

_SHORT = 16  # characters that hold no beginning of a call and another marker


class DetectingReader:
    """Reads with `expected`, and detects calls in the text that it leaves.

    A call at the end of reasoning that was never closed counts, too.

    `settled` is called once with the format of this turn's calls, or the one that the answer
    announced: None if it is the expected one.
    `trace` is told why something like a call stayed text. `opening` finds out whether the
    beginning of the answer announces another format.
    """

    def __init__(
        self,
        expected: MarkedReader,
        detector: OutputDetector,
        settled: Callable[[Detection | None], None],
        trace: Trace | None = None,
        opening: AnswerBeginning[MarkedReader] | None = None,
    ) -> None:
        self._expected: MarkedReader | None = expected if opening is None else None
        self._detector: OutputDetector | None = detector
        self._settled = settled
        self._trace = trace
        self._why = ""
        self._opening = (expected, opening) if opening is not None else None
        self._format: Detection | None = None  # the announced format, until it is settled
        self._reasoning = UnclosedReasoning(detector.again)

    @property
    def idle(self) -> bool:
        """See `TextReader.idle`."""
        expected, detector = self._expected, self._detector
        if self._opening is not None:
            return not self._opening[1].waiting
        if expected is not None and not expected.idle:
            return False
        return detector is None or (not detector.waiting and detector.found is None)

    def feed(self, text: str) -> list[Event]:
        """See `TextReader.feed`."""
        expected, detector = self._expected, self._detector
        if expected is None:
            return self._feed_other(text)
        if detector is None:
            return expected.feed(text)
        if len(text) > _SHORT and expected.mark in text and expected.marker.search(text, 1):
            return self._feed_pieces(expected.marker, text)
        events = expected.feed(text)
        if len(events) == 1 and type(only := events[0]) is TextDelta:
            events = detector.feed(only.text)  # the common case in a plain answer
            if detector.found is not None:
                self._hand_over(detector, events)
            elif detector.over:
                self._why, self._detector = detector.why, None
            return events
        self._reasoning.see(text, events)
        return self._passed(events)

    def _feed_other(self, text: str) -> list[Event]:
        """Feed the beginning of an answer, or text behind a call in another format."""
        if self._opening is not None:
            return self._open(*self._opening, text)
        return self._detector.feed(text) if self._detector is not None else []

    def _feed_pieces(self, marker: re.Pattern[str], text: str) -> list[Event]:
        """Feed a text up to each marker of the expected format. Where a call in another format has
        begun by then, the marker is part of its arguments."""
        out: list[Event] = []
        start = 0
        for found in marker.finditer(text, 1):
            out += self.feed(text[start : found.start()])
            start = found.start()
            if self._expected is None or self._detector is None:
                break
        return [*out, *self.feed(text[start:])]

    def finish(self) -> list[Event]:
        """See `TextReader.finish`."""
        events = [] if self._opening is None else self._open(*self._opening, "", final=True)
        rest = self._expected.finish() if self._expected is not None else []
        self._reasoning.see("", rest)
        events += self._passed(rest)
        detector = self._detector
        if detector is not None:
            events += detector.finish()
            if self._expected is not None and detector.found is not None:
                self._settle(detector.found)
            elif not detector.spoken and (unclosed := self._reasoning.calls()):
                self._settle(unclosed[1])
                events += unclosed[0]
            self._why = "" if detector.found is not None else detector.why
        if self._format is not None:
            self._settle(self._format)
        if self._trace is not None and self._why:
            self._trace.explain(self._why)
        return events

    def _settle(self, found: Detection | None) -> None:
        self._format = None
        self._settled(found)

    def _open(
        self,
        expected: MarkedReader,
        opening: AnswerBeginning[MarkedReader],
        text: str,
        *,
        final: bool = False,
    ) -> list[Event]:
        """Read the beginning of the answer, once it is certain whether it announces a format."""
        if not opening.feed(text, final=final):
            return []
        self._opening = None
        self._expected, self._format = opening.announced or (expected, None)
        return self.feed(opening.text)

    def _passed(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if isinstance(event, CallStart) and self._detector is not None:
                out += self._detector.finish()
                self._detector = None
                self._settle(self._format)
            if isinstance(event, TextDelta) and self._detector is not None:
                out += self._detector.feed(event.text)
            else:
                out.append(event)
        if self._detector is not None and self._detector.found is not None:
            self._hand_over(self._detector, out)
        return out

    def _hand_over(self, detector: OutputDetector, out: list[Event]) -> None:
        """Switch to the detected format. Text that the expected parser still holds goes to it."""
        if self._expected is None:
            return
        held, self._expected = self._expected.finish(), None
        for event in held:
            out += detector.feed(event.text) if isinstance(event, TextDelta) else [event]
        self._settle(detector.found)
