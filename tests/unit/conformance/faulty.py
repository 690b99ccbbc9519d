"""Parsers of a toy format, each with one fault. The format: `CALL name {json};`, text around it."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from toolwire.conformance import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ParserStream,
    TestCase,
    Tools,
)

CALL = re.compile(r"CALL (\w+) (\{.*?\});")


def toy_case(text: str, *, streaming: bool, **changes: object) -> TestCase:
    """A case whose expectation is read by the rule above."""
    calls = tuple(ExtractedToolCall.of(name, json.loads(args)) for name, args in CALL.findall(text))
    fields: dict[str, object] = {
        "scenario_name": "toy",
        "model_output": text,
        "parser_name": "toy",
        "expected_tools_called": bool(calls),
        "expected_tool_calls": calls,
        "expected_content": CALL.sub("", text) or None,
        "streaming_mode": streaming,
    }
    return TestCase(**{**fields, **changes})  # type: ignore[arg-type]


class Toy:
    """The right parser. It waits for the end, then says everything."""

    holds_calls: ClassVar[bool] = True

    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        calls = tuple(
            ExtractedToolCall(f"call_{index}", FunctionCall(name, arguments))
            for index, (name, arguments) in enumerate(CALL.findall(text))
        )
        return ExtractedToolCallInformation(bool(calls), calls, CALL.sub("", text) or None)

    def stream(self, tools: Tools) -> ParserStream:
        return ToyStream(self)


@dataclass
class ToyStream:
    """Collects the text; the deltas come at the end."""

    toy: Toy
    text: str = ""
    change: Callable[[list[DeltaMessage]], list[DeltaMessage]] = list

    def feed(self, delta: str) -> list[DeltaMessage]:
        self.text += delta
        return []

    def finish(self) -> list[DeltaMessage]:
        found = self.toy.extract(self.text, ())
        deltas = [DeltaMessage(content=found.content)] if found.content else []
        for index, call in enumerate(found.tool_calls):
            function = DeltaFunctionCall(call.function.name, call.function.arguments)
            piece = DeltaToolCall(index, call.id, "function", function)
            deltas.append(DeltaMessage(tool_calls=(piece,)))
        return self.change(deltas)


class Raises(Toy):
    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        raise IndexError("list index out of range")


class SharesIds(Toy):
    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        found = super().extract(text, tools)
        calls = tuple(ExtractedToolCall("call_0", call.function) for call in found.tool_calls)
        return ExtractedToolCallInformation(bool(calls), calls, found.content)


class LosesText(Toy):
    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        found = super().extract(text, tools)
        return ExtractedToolCallInformation(found.tools_called, found.tool_calls)


class LosesCallsInSmallPieces(Toy):
    """Looks for a call in every piece by itself."""

    def stream(self, tools: Tools) -> ParserStream:
        toy = self

        class Forgetful(ToyStream):
            def feed(self, delta: str) -> list[DeltaMessage]:
                return ToyStream(toy, delta).finish()

            def finish(self) -> list[DeltaMessage]:
                return []

        return Forgetful(self)


class RepeatsIds(Toy):
    def stream(self, tools: Tools) -> ParserStream:
        return ToyStream(self, change=lambda deltas: [*deltas, *deltas])


class GivesTheWrongThing(Toy):
    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        return {"tool_calls": []}  # type: ignore[return-value]


class Mends(Toy):
    """Completes a call that was cut off."""

    def stream(self, tools: Tools) -> ParserStream:
        return ToyStream(MendingToy())


class MendingToy(Toy):
    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        return super().extract(f'{text}"}};', tools)


class Sluggish(Toy):
    """Claims to deliver calls as they come, and does not."""

    holds_calls: ClassVar[bool] = False
