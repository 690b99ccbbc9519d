"""How a format reads a model's text: the calls in it, the role of each character, and which chunk
led to which event."""

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, Self

import msgspec

from toolwire.formats import (
    CallEnd,
    CallStart,
    Span,
    Trace,
    detect_output,
    extract,
    get,
    names,
    notice_mismatch,
    parser_for,
)
from toolwire.inspector.roles import Placed, stretches
from toolwire.protocol.events import Event
from toolwire.protocol.tools import ToolSpec

AUTO = "auto"
MOST_CHARACTERS = 100_000
MOST_CHUNKS = 20_000
_FALLBACK = "hermes"
_MOST_REASONS = 12
_SHOWN = 60
_EVENT_FIELDS = ("text", "index", "name", "json", "complete", "provider_id")


class ChosenFormat(msgspec.Struct, frozen=True):
    """A format, and why it was chosen."""

    name: str
    why: str
    found: bool = True
    """False if the format could not be detected."""

    @classmethod
    def of(cls, name: str, text: str, tools: tuple[ToolSpec, ...]) -> Self:
        """Return the format with this name, or the one detected in the text. Raises `KeyError`."""
        if name != AUTO:
            return cls(get(name).name, "")
        detected = detect_output(text, tools)
        if detected is None:
            read = extract(AUTO, text, tools)
            if read.format and not read.calls:
                return cls(read.format, "the answer begins so")
            why = f"none of {len(names())} formats finds a call; shown as {_FALLBACK} reads it"
            return cls(_FALLBACK, why, found=False)
        return cls(detected.format, detected.reason)


def read_text(
    name: str, text: str, tools: tuple[ToolSpec, ...] = (), *, size: int = 4
) -> dict[str, Any]:
    """Describe a text as JSON values. Offsets are in UTF-16 code units, as in JavaScript."""
    chosen = ChosenFormat.of(name, text, tools)
    whole, trace = Trace(), Trace()
    found = extract(chosen.name, text, tools, trace=whole)
    events = _fed(chosen.name, text, tools, 1, trace)
    place = _utf16(text)
    read = stretches(text, trace.spans, events)
    size = max(size, -(-len(text) // MOST_CHUNKS))
    ends = [min(at + size, len(text)) for at in range(0, len(text), size)]
    chunked = events if size == 1 else _fed(chosen.name, text, tools, size)
    return {
        "format": chosen.name,
        "why": chosen.why,
        "detected": name == AUTO and chosen.found,
        "content": found.content,
        "reasoning": found.reasoning,
        "calls": [
            {"name": call.name, "arguments": call.arguments, "id": call.provider_id}
            for call in found.calls
        ],
        "stretches": [[place(s.start), place(s.end), s.role, s.why] for s in read],
        "chunk_size": size,
        "chunks": [place(end) for end in ends],
        "events": [{"chunk": max(fed - 1, 0) // size, **_facts(event)} for fed, event in chunked],
        "incomplete": _incomplete(chunked),
        "reasons": [] if found.calls else _reasons(chosen, text, tools, whole.spans),
    }


def _fed(
    name: str, text: str, tools: tuple[ToolSpec, ...], size: int, trace: Trace | None = None
) -> list[Placed]:
    """Parse the text in chunks. Return each event with the number of characters fed so far."""
    parser = parser_for(name, tools, trace=trace)
    events: list[Placed] = []
    for start in range(0, len(text), size):
        end = min(start + size, len(text))
        events += [(end, event) for event in parser.feed(text[start:end])]
    return [*events, *((len(text), event) for event in parser.finish())]


def _facts(event: Event) -> dict[str, Any]:
    fields = msgspec.structs.asdict(event).items()
    shown = {key: value for key, value in fields if key in _EVENT_FIELDS and value is not None}
    return {"event": type(event).__name__, **shown}


def _utf16(text: str) -> Callable[[int], int]:
    """Return a function that converts an offset in characters to UTF-16 code units."""
    if text.isascii() or max(text) <= "\uffff":
        return lambda offset: offset
    return [0, *accumulate(1 + (char > "\uffff") for char in text)].__getitem__


def _incomplete(events: list[Placed]) -> list[str]:
    """Return the calls that were started live but have incomplete arguments."""
    began = {event.index: event.name for _, event in events if isinstance(event, CallStart)}
    ends = (event for _, event in events if isinstance(event, CallEnd))
    return [began[end.index] for end in ends if not end.complete]


def _reasons(
    chosen: ChosenFormat, text: str, tools: tuple[ToolSpec, ...], spans: list[Span]
) -> list[dict[str, Any]]:
    """Explain why there is no call, for this format and those whose markers are in the text."""
    found: dict[str, dict[str, Any]] = {}
    for name, read in ((chosen.name, spans), *_others(chosen, text, tools)):
        for span in read:
            if span.why:
                of_text = text[span.start : span.end][:_SHOWN]
                reason = found.setdefault(span.why, _reason(name, span.why, of_text))
                reason["formats"] = list(dict.fromkeys([*reason["formats"], name]))
    reasons = list(found.values())[:_MOST_REASONS]
    other = notice_mismatch(chosen.name, text, tools) if chosen.found else None
    return [*reasons, _reason(other.format, other.reason)] if other else reasons


def _others(
    chosen: ChosenFormat, text: str, tools: tuple[ToolSpec, ...]
) -> Iterator[tuple[str, list[Span]]]:
    """If no format was detected, show how those with markers in the text parse it."""
    for name in () if chosen.found else names():
        if any(len(marker) > 1 and marker in text for marker in get(name).framing.markers()):
            trace = Trace()
            extract(name, text, tools, trace=trace)
            yield name, trace.spans


def _reason(name: str, why: str, text: str = "") -> dict[str, Any]:
    return {"formats": [name], "why": why, "text": text}
