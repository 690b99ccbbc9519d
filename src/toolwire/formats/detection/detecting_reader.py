"""Reads text in the expected format, and detects calls in any other format.

The first format with a call reads the rest of the turn alone. Detection stops once a model's format
is both known and observed: from then on, calls in another format count as quotations.
"""

from collections.abc import Callable

from toolwire.formats.detection.detect import Detection
from toolwire.formats.detection.detector import OutputDetector
from toolwire.formats.text_reader import TextReader
from toolwire.formats.trace import Trace
from toolwire.protocol.events import CallStart, Event, TextDelta


class DetectingReader:
    """Reads with `expected`, and detects calls in the text that it leaves.

    `settled` is called once with the format of this turn's calls: None if it is the expected one.
    `trace` is told why something like a call stayed text.
    """

    def __init__(
        self,
        expected: TextReader,
        detector: OutputDetector,
        settled: Callable[[Detection | None], None],
        trace: Trace | None = None,
    ) -> None:
        self._expected: TextReader | None = expected
        self._detector: OutputDetector | None = detector
        self._settled = settled
        self._trace = trace
        self._why = ""

    @property
    def idle(self) -> bool:
        """See `TextReader.idle`."""
        expected, detector = self._expected, self._detector
        if expected is not None and not expected.idle:
            return False
        return detector is None or (not detector.waiting and detector.found is None)

    def feed(self, text: str) -> list[Event]:
        """See `TextReader.feed`."""
        expected, detector = self._expected, self._detector
        if expected is None:
            return detector.feed(text) if detector is not None else []
        events = expected.feed(text)
        if detector is None:
            return events
        if len(events) == 1 and type(only := events[0]) is TextDelta:
            events = detector.feed(only.text)  # the common case in a plain answer
            if detector.found is not None:
                self._hand_over(detector, events)
            elif detector.over:
                self._why, self._detector = detector.why, None
            return events
        return self._passed(events)

    def finish(self) -> list[Event]:
        """See `TextReader.finish`."""
        events = self._passed(self._expected.finish()) if self._expected is not None else []
        detector = self._detector
        if detector is not None:
            events += detector.finish()
            if self._expected is not None and detector.found is not None:
                self._settled(detector.found)
            self._why = "" if detector.found is not None else detector.why
        if self._trace is not None and self._why:
            self._trace.explain(self._why)
        return events

    def _passed(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if isinstance(event, CallStart) and self._detector is not None:
                out += self._detector.finish()
                self._detector = None
                self._settled(None)
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
        self._settled(detector.found)
