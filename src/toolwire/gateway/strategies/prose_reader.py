"""Reads text that must not contain calls: any call in it is dropped."""

from toolwire.formats import Parser
from toolwire.gateway.answer.call_sequencer import CALL_EVENTS
from toolwire.protocol.events import Event


class ProseReader:
    """Reads with `parser`, and drops all calls."""

    def __init__(self, parser: Parser, repairs: set[str], dropped: str) -> None:
        self._parser = parser
        self._repairs = repairs
        self._dropped = dropped

    def feed(self, text: str) -> list[Event]:
        """See `TextReader.feed`."""
        return self._without_calls(self._parser.feed(text))

    def finish(self) -> list[Event]:
        """See `TextReader.finish`."""
        return self._without_calls(self._parser.finish())

    @property
    def idle(self) -> bool:
        """See `TextReader.idle`. Always true: lost text cannot corrupt a call."""
        return True

    def _without_calls(self, events: list[Event]) -> list[Event]:
        kept: list[Event] = [e for e in events if not isinstance(e, CALL_EVENTS)]
        if len(kept) < len(events):
            self._repairs.add(f"call_dropped:{self._dropped}")
        return kept
