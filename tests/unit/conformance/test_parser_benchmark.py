"""`benchmarks/parsers.py`, with a stand-in for SGLang: what the comparison's figures rest on."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from toolwire.conformance import cases_of
from toolwire.conformance.adapters import ours

FOLDER = Path(__file__).parents[3] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_special_token_is_never_split() -> None:
    pieces = load("parsers").cut("before<|call|>after all", ["<|call|>"])
    assert pieces == ["befor", "e", "<|call|>", "after", " all"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_that_is_right_counts_and_one_that_is_lost_does_not(streamed: bool) -> None:
    parsers = load("parsers")
    adapter = ours("hermes")
    case = next(
        c
        for c in cases_of("hermes")
        if c.scenario_name == "parallel_calls" and c.streaming_mode is streamed
    )
    assert parsers.is_right(adapter, case)
    assert not parsers.is_right(ours("mistral"), case)


class Foreign:
    """Speaks as SGLang's `FunctionCallParser` does, and holds the end of the arguments back."""

    ToolCallParserEnum: ClassVar = {"hermes": None}
    detector = SimpleNamespace(
        prev_tool_call_arr=[{"arguments": {"tz": "CET"}}], streamed_args_for_tool=['{"tz": ']
    )

    def __init__(self, tools: list[Any], name: str) -> None:
        assert name == "hermes"

    def parse_stream_chunk(self, chunk: str) -> tuple[str, list[Any]]:
        call = {"tool_index": 0, "name": "get_time", "parameters": ""}
        first, then = (SimpleNamespace(**call), SimpleNamespace(**call))
        then.name, then.parameters = None, '{"tz": '
        return "", [first, then]

    def parse_stream_end(self) -> tuple[str, list[Any]]:
        return "", []


def test_what_sglang_sends_at_the_end_of_a_stream_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "sglang.srt.function_call.function_call_parser"
    protocol = "sglang.srt.entrypoints.openai.protocol"
    monkeypatch.setitem(sys.modules, place, SimpleNamespace(FunctionCallParser=Foreign))
    monkeypatch.setitem(sys.modules, protocol, SimpleNamespace(Tool=dict))
    adapter = load("sglang_parsers").adapter("hermes")
    stream = adapter.stream([])
    deltas = [*stream.feed("..."), *stream.finish()]
    assert load("parsers").joined(deltas) == [("get_time", {"tz": "CET"})]
    assert load("sglang_parsers").adapter("react") is None
