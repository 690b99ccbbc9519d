"""SGLang's parsers, for the conformance kit. Needs an installed SGLang.

toolwire conform --parser benchmarks.sglang_parsers:adapter --content trimmed
"""

import json
import uuid
from collections.abc import Iterable
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
from toolwire.formats import get


def adapter(format_name: str) -> "SGLangAdapter | None":
    """The parser that SGLang has under one of the names of this format."""
    from sglang.srt.function_call.function_call_parser import FunctionCallParser  # noqa: PLC0415

    names = (get(format_name).name, *get(format_name).aliases)
    known = FunctionCallParser.ToolCallParserEnum
    found = next((name for name in names if name in known), None)
    return SGLangAdapter(found) if found else None


class SGLangAdapter:
    """Asks as SGLang's own server does, with tools as it reads them from a request."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _parser(self, tools: Tools) -> Any:
        from sglang.srt.entrypoints.openai.protocol import Tool  # noqa: PLC0415
        from sglang.srt.function_call.function_call_parser import (  # noqa: PLC0415
            FunctionCallParser,
        )

        return FunctionCallParser([Tool(**tool) for tool in tools], self._name)

    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        """What a whole answer holds."""
        parser = self._parser(tools)
        if not parser.has_tool_call(text):
            return ExtractedToolCallInformation(tools_called=False, tool_calls=(), content=text)
        content, items = parser.parse_non_stream(text)
        calls = tuple(
            ExtractedToolCall(new_id(), FunctionCall(item.name, item.parameters)) for item in items
        )
        return ExtractedToolCallInformation(bool(calls), calls, content or None)

    def stream(self, tools: Tools) -> "SGLangStream":
        """A reader of one answer."""
        return SGLangStream(self._parser(tools))


class SGLangStream:
    """One answer in pieces."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._begun: set[int] = set()

    def feed(self, delta: str) -> list[DeltaMessage]:
        """What a piece makes certain."""
        return self._deltas(*self._parser.parse_stream_chunk(delta))

    def finish(self) -> list[DeltaMessage]:
        """What was held back, and the rest of the last call's arguments."""
        ended = self._deltas(*self._parser.parse_stream_end())
        return [*ended, *self._rest()]

    def _rest(self) -> list[DeltaMessage]:
        """SGLang's server sends the arguments that its parser knows and has not sent."""
        detector = self._parser.detector
        known = getattr(detector, "prev_tool_call_arr", None)
        sent = getattr(detector, "streamed_args_for_tool", None)
        if not known or not sent or len(known) > len(sent):
            return []
        index = len(known) - 1
        arguments = known[index].get("arguments", {})
        text = (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )
        if not text.startswith(sent[index]) or text == sent[index]:
            return []
        rest = text[len(sent[index]) :]
        piece = DeltaToolCall(index, None, None, DeltaFunctionCall(None, rest))
        return [DeltaMessage(tool_calls=(piece,))]

    def _deltas(self, text: str | None, items: Iterable[Any]) -> list[DeltaMessage]:
        deltas = [DeltaMessage(content=text)] if text else []
        for item in items:
            new = item.tool_index not in self._begun
            self._begun.add(item.tool_index)
            function = DeltaFunctionCall(item.name if new else None, item.parameters or None)
            head = (new_id(), "function") if new else (None, None)
            piece = DeltaToolCall(item.tool_index, *head, function)
            deltas.append(DeltaMessage(tool_calls=(piece,)))
        return deltas


def new_id() -> str:
    """An id as SGLang's server makes it."""
    return f"call_{uuid.uuid4().hex[:24]}"
