"""Adapters for Toolwire's own parsers: `toolwire.conformance.adapters:ours`."""

from collections.abc import Iterable
from itertools import count
from typing import ClassVar

from toolwire.conformance.adapter import Tools
from toolwire.conformance.calls import ExtractedToolCall, ExtractedToolCallInformation, FunctionCall
from toolwire.conformance.deltas import DeltaFunctionCall, DeltaMessage, DeltaToolCall
from toolwire.formats import Delivery, extract, get, parser_for
from toolwire.protocol.events import ArgsDelta, CallStart, Event, ReasoningDelta, TextDelta
from toolwire.protocol.tools import ToolSpec


def ours(format_name: str) -> "Ours | None":
    """Toolwire's parser for a format. A streamed call is delivered while it arrives."""
    return _ours(format_name, "live")


def ours_whole(format_name: str) -> "Ours | None":
    """Toolwire's parser for a format. A streamed call is delivered once it is complete."""
    return _ours(format_name, "whole")


def _ours(format_name: str, delivery: Delivery) -> "Ours | None":
    try:
        get(format_name)
    except KeyError:
        return None
    return Ours(format_name, delivery)


def to_tools(tools: Tools) -> list[ToolSpec]:
    """Convert the tools of an OpenAI request to `ToolSpec` records."""
    functions = [tool["function"] for tool in tools]
    return [
        ToolSpec(one["name"], one.get("description"), one.get("parameters") or {})
        for one in functions
    ]


class Ours:
    """Toolwire's parser for one format."""

    reads_reasoning: ClassVar[bool] = True

    def __init__(self, format_name: str, delivery: Delivery = "live") -> None:
        self._format = format_name
        self._delivery = delivery
        self.holds_calls = delivery == "whole"

    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        """Parse a whole answer."""
        found = extract(self._format, text, to_tools(tools))
        calls = tuple(
            ExtractedToolCall(
                call.provider_id or _made_id(number), FunctionCall(call.name, call.arguments)
            )
            for number, call in enumerate(found.calls)
        )
        return ExtractedToolCallInformation(bool(calls), calls, found.content, found.reasoning)

    def stream(self, tools: Tools) -> "OurStream":
        """Return a streaming parser for one answer."""
        return OurStream(self._format, tools, self._delivery)


class OurStream:
    """Converts Toolwire's events to deltas."""

    def __init__(self, format_name: str, tools: Tools, delivery: Delivery) -> None:
        self._parser = parser_for(format_name, to_tools(tools), delivery=delivery)
        self._numbers = count()

    def feed(self, delta: str) -> list[DeltaMessage]:
        """Consume a piece of text. Return its deltas."""
        return self._deltas(self._parser.feed(delta))

    def finish(self) -> list[DeltaMessage]:
        """End the text. Return the last deltas."""
        return self._deltas(self._parser.finish())

    def _deltas(self, events: Iterable[Event]) -> list[DeltaMessage]:
        found = (self._delta(event) for event in events)
        return [delta for delta in found if delta is not None]

    def _delta(self, event: Event) -> DeltaMessage | None:
        if isinstance(event, TextDelta):
            return DeltaMessage(content=event.text)
        if isinstance(event, ReasoningDelta):
            return DeltaMessage(reasoning=event.text)
        if isinstance(event, CallStart):
            call_id = event.provider_id or _made_id(next(self._numbers))
            function = DeltaFunctionCall(name=event.name)
            return _piece(DeltaToolCall(event.index, call_id, "function", function))
        if isinstance(event, ArgsDelta):
            return _piece(
                DeltaToolCall(event.index, function=DeltaFunctionCall(arguments=event.json))
            )
        return None


def _piece(piece: DeltaToolCall) -> DeltaMessage:
    return DeltaMessage(tool_calls=(piece,))


def _made_id(number: int) -> str:
    """Return a deterministic id. In production the gateway assigns random ones."""
    return f"call_{number:032x}"
