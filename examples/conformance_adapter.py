"""How to test a parser that is not Toolwire's: write an adapter for it.

    toolwire conform --parser examples.conformance_adapter:adapter

`RegexParser` stands for the foreign parser: it reads Hermes calls with a regular expression, whole
or streamed, as many do. The kit finds what is wrong with it: end markers that are missing, text
behind calls that is lost, arguments that were encoded twice, exceptions for broken JSON.
"""

import json
import re
import uuid
from typing import Any

from toolwire.conformance import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    Tools,
)


class RegexParser:
    """The foreign parser."""

    pattern = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)

    def parse(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        """The text in front of the calls, and the calls."""
        calls = [json.loads(body) for body in self.pattern.findall(text)]
        return (text.partition("<tool_call>")[0] if calls else text), calls

    def new_calls(self, before: str, now: str) -> list[dict[str, Any]]:
        """The calls that are complete now and were not before."""
        return self.parse(now)[1][len(self.parse(before)[1]) :]


class HermesAdapter:
    """The adapter: what the foreign parser finds, in the kit's words."""

    holds_calls = True  # it delivers a call once it is complete

    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:  # noqa: ARG002
        """What a whole answer holds."""
        content, calls = RegexParser().parse(text)
        found = tuple(
            ExtractedToolCall(new_id(), FunctionCall(call["name"], json.dumps(call["arguments"])))
            for call in calls
        )
        return ExtractedToolCallInformation(bool(found), found, content or None)

    def stream(self, tools: Tools) -> "HermesStream":  # noqa: ARG002
        """A reader of one answer."""
        return HermesStream()


class HermesStream:
    """Feeds the foreign parser with the text so far."""

    def __init__(self) -> None:
        self._parser = RegexParser()
        self._text = ""
        self._count = 0

    def feed(self, delta: str) -> list[DeltaMessage]:
        """The calls that this piece completes."""
        before, self._text = self._text, self._text + delta
        deltas = []
        for call in self._parser.new_calls(before, self._text):
            function = DeltaFunctionCall(call["name"], json.dumps(call["arguments"]))
            piece = DeltaToolCall(self._count, new_id(), "function", function)
            deltas.append(DeltaMessage(tool_calls=(piece,)))
            self._count += 1
        return deltas

    def finish(self) -> list[DeltaMessage]:
        """The text, which this parser knows only at the end."""
        content = self._parser.parse(self._text)[0]
        return [DeltaMessage(content=content)] if content else []


def new_id() -> str:
    """An id for a call; the format has none."""
    return f"call_{uuid.uuid4().hex}"


def adapter(format_name: str) -> HermesAdapter | None:
    """The adapter for a format; this parser knows one."""
    return HermesAdapter() if format_name == "hermes" else None
