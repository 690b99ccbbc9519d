"""Reads an answer that was held to the schema of calls: what is no call in it is no text either.

Where a model writes as it likes, a call that breaks off comes back as the text that it was. Here
the array around the calls is ours and not the model's words, so that what a cut leaves of it, or
of a call that had not begun, is left out; and a call that had begun is delivered as far as it
came, as that of a backend with tools is.
"""

import re

from toolwire.gateway.strategies.text_reader import TextReader
from toolwire.protocol.events import Event, TextDelta

_OPENING = '{"tool_calls":['
_MARKUP = re.compile(
    r"(?:\s|<[^<>\s]{1,40}>|\[/?[A-Z_]{1,30}\]|\[(?![/A-Z_])|\]|```\w{0,16})*+"
    r"(?:<[^<>\s]{0,40}|\[/?[A-Z_]{0,30}|`{1,2})?\Z"
)
"""What formats put around their calls (tags, special tokens, brackets, fences), at the end of a
text; the last of it may be incomplete."""
_LONGEST_MARKUP = 256


class ConstrainedReader:
    """Reads with `parser`, and leaves out what is between the calls.

    Only where the answer begins as calls do: it may be text in the form that the client wants, or
    come from a server that ignores schemas. In that case only the markup is left out that the
    model's own format puts around a call. `demanded`: the answer must be calls, so that even a
    beginning that is too short to tell is one of calls.
    """

    def __init__(self, parser: TextReader, repairs: set[str], *, demanded: bool) -> None:
        self._parser = parser
        self._repairs = repairs
        self._demanded = demanded
        self._beginning = ""
        self._is_calls: bool | None = None
        self._held: list[Event] = []
        """White space, while it cannot be told what follows it."""
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
        """What the model said, less the markup right before and after a call."""
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
    """Where the markup at the end of a text begins."""
    before = max(0, len(text) - _LONGEST_MARKUP)
    found = _MARKUP.search(text, before)
    return found.start() if found else len(text)
