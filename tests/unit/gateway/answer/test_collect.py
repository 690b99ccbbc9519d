from toolwire.gateway.answer.collect import Collector, Whole
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    Extra,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.tools import AssistantCall


def collected(*events: Event) -> Whole:
    collector = Collector()
    for event in events:
        collector.feed([event])
    return collector.whole()


def test_text_is_joined() -> None:
    whole = collected(TextDelta("Hel"), TextDelta("lo"), TurnEnd("stop"))
    assert (whole.content, whole.calls, whole.reason) == ("Hello", [], "stop")


def test_an_answer_of_nothing_has_empty_content() -> None:
    assert collected(TurnEnd("stop")).content == ""


def test_beside_calls_no_text_is_no_content() -> None:
    whole = collected(CallStart(0, "f", "call_0"), CallEnd(0), TurnEnd("tool_calls"))
    assert whole.content is None


def test_text_beside_calls_is_kept() -> None:
    whole = collected(TextDelta("Hi"), CallStart(0, "f", "call_0"), CallEnd(0))
    assert whole.content == "Hi"


def test_arguments_are_joined_call_by_call() -> None:
    whole = collected(
        CallStart(0, "f", "call_0"), ArgsDelta(0, '{"a"'), ArgsDelta(0, ":1}"), CallEnd(0),
        CallStart(1, "sh", "call_1", kind="custom"), ArgsDelta(1, "ls"), CallEnd(1),
    )  # fmt: skip
    assert whole.calls == [
        AssistantCall("call_0", "f", '{"a":1}'),
        AssistantCall("call_1", "sh", "ls", "custom"),
    ]


def test_the_rest_is_gathered_by_kind() -> None:
    whole = collected(
        ReasoningDelta("h"), ReasoningDelta("m"), Extra("refusal", b'"a"'),
        Extra("refusal", b'"b"'),
        TextDelta("x", b'{"content":[]}'), TurnEnd("length"),
    )  # fmt: skip
    assert (whole.reasoning, whole.reason) == ("hm", "length")
    assert whole.extras == {"refusal": [b'"a"', b'"b"']}
    assert whole.logprobs == [b'{"content":[]}']


def test_without_reasoning_there_is_none() -> None:
    assert collected(TextDelta("x")).reasoning is None
