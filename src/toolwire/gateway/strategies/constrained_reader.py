"""Reads an answer that was constrained to the schema of calls, and discards all but the calls.

In an unconstrained answer, a truncated call is returned as text. Here our schema, not the model,
put the array around the calls. So the rest of a truncated array, or of a call that had not started,
is dropped. A call that had started is delivered as far as it got, as on a backend with tools.
"""

import re

from toolwire.formats.text_reader import TextReader
from toolwire.protocol.events import Event, TextDelta

_OPENING = '{"tool_calls":['
_MARKUP = re.compile(
    r"(?:\s|<[^<>\s]{1,40}>|\[/?[A-Z_]{1,30}\]|\[(?![/A-Z_])|\]|```\w{0,16})*+"
    r"(?:<[^<>\s]{0,40}|\[/?[A-Z_]{0,30}|`{1,2})?\Z"
)
"""Markup around calls (tags, special tokens, brackets, fences) at the end of a text; the last of it
may be incomplete."""
_LONGEST_MARKUP = 256


class ConstrainedReader:
    """Reads with `parser`, and drops everything between the calls.

    This applies only if the answer starts like calls. Otherwise it is text in the client's
    `response_format`, or the server ignores schemas; then only the markup that the model's format
    puts around a call is dropped. `demanded`: the answer must be calls, so even a start that is too
    short to tell counts as calls.
    """

    def __init__(self, parser: TextReader, repairs: set[str], *, demanded: bool) -> None:
        self._parser = parser
        self._repairs = repairs
        self._demanded = demanded
        self._beginning = ""
        self._is_calls: bool | None = None
        self._held: list[Event] = []
        """White space that is held until it is clear what follows."""
        self._markup = ""
        self._called = False

    def feed(self, text: str) -> list[Event]:
        """See `TextReader.feed`."""
        if self._is_calls is None:
            self._look_at(text)
        self._held += self._parser.feed(text)
        return [] if self._is_calls is None else self._taken()

    def finish(self) -> list[Event]:
        """See `TextReader.finish`."""
        if self._is_calls is None:
            self._is_calls = self._demanded
        self._held += self._parser.finish()
        events = self._taken()
        if self._markup and not self._called:
            events.append(TextDelta(self._markup))
        return events

    @property
    def idle(self) -> bool:
        """See `TextReader.idle`."""
        return self._is_calls is False and not self._markup and self._parser.idle

    def _look_at(self, text: str) -> None:
        beginning = self._beginning = self._beginning + "".join(text.split())
        if beginning.startswith(_OPENING):
            self._is_calls = True
        elif not _OPENING.startswith(beginning):
            self._is_calls = False

    def _taken(self) -> list[Event]:
        events, self._held = self._held, []
        if not self._is_calls:
            return self._without_markup(events)
        if any("{" in event.text for event in events if isinstance(event, TextDelta)):
            self._repairs.add("call_dropped:cut_off")
        return [event for event in events if not isinstance(event, TextDelta)]

    def _without_markup(self, events: list[Event]) -> list[Event]:
        """Return the events without the markup directly before and after a call."""
        taken: list[Event] = []
        for event in events:
            if not isinstance(event, TextDelta):
                self._called, self._markup = True, ""
                taken.append(event)
                continue
            text = self._markup + event.text
            said = _end_of_words(text)
            self._markup = text[said:]
            if said:
                self._called = False
                taken.append(TextDelta(text[:said], event.logprobs))
        return taken


def _end_of_words(text: str) -> int:
    """Return where the markup at the end of a text starts."""
    before = max(0, len(text) - _LONGEST_MARKUP)
    found = _MARKUP.search(text, before)
    return found.start() if found else len(text)
