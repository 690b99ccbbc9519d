"""An answer that was held to the schema of calls and is cut off: calls, and nothing beside them."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.contract.wire import body, read, tool

from toolwire.gateway.answer.attempt import Attempt
from toolwire.gateway.answer.collect import Whole
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.native import NATIVE
from toolwire.gateway.strategies.prompted import Constrained, Prompted
from toolwire.gateway.trace.records import join_sent
from toolwire.protocol.fragments import CallFragment, Fragment

HELD = Constrained()
UNION = Constrained(union=True)
FIRST, SECOND = '{"x": 1}', '{"x": [2, {"y": "}"}]}'
NAMED = '{"name": "f", "arguments": '
TEXT = f'{{"tool_calls": [{NAMED}{FIRST}}}, {NAMED}{SECOND}}}]}}'
SPACED = f'\n{{ "tool_calls" :\n[ {NAMED}{FIRST}}}\n,{" " * 300}{NAMED}{SECOND}}} ]\n}}'
STREAMED = pytest.mark.parametrize("stream", [True, False])


def turn(
    pieces: Iterable[str],
    *,
    stream: bool = False,
    way: ToolStrategy = HELD,
    choice: str = "required",
    strict: bool = False,
    finish: str = "length",
) -> tuple[Whole, Attempt]:
    """What a client gets of an answer, and how it was made."""
    shape: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    tools = [tool("f", shape if strict else {"type": "object"}, strict=strict)]
    sent: list[Any] = []
    attempt = Attempt(
        read(body(tools=tools, stream=stream, tool_choice=choice)),
        way,
        lambda index, events: sent.append((index, events)),
        lambda: "call_1",
    )
    attempt.feed([Fragment(text=piece) for piece in pieces])
    attempt.feed([Fragment(finish=finish)])
    attempt.finish(done=True)
    return join_sent(sent)[0], attempt


def shown(whole: Whole) -> tuple[str, list[str], str]:
    return whole.content or "", [call.arguments for call in whole.calls], whole.reason


@pytest.mark.parametrize("text", [TEXT, SPACED], ids=["tight", "spaced"])
def test_wherever_it_is_cut_there_are_calls_and_no_text(text: str) -> None:
    for cut in range(len(text)):
        live, _ = turn([text[:cut]], stream=True)
        whole, _ = turn([text[:cut]])
        letters, _ = turn(text[:cut])
        content, calls, reason = shown(whole)
        assert shown(live) == shown(letters) == (content, calls, reason), cut
        assert (content.strip(), reason) == ("", "length"), cut
        begun = [call for call in (FIRST, SECOND) if text.index(call) < cut]
        assert calls == [call[: cut - text.index(call)] for call in begun], cut


@STREAMED
def test_calls_that_were_complete_before_the_cut_are_calls(stream: bool) -> None:
    whole, attempt = turn([TEXT[: TEXT.index(SECOND) - 5]], stream=stream)
    assert shown(whole) == ("", [FIRST], "length")
    assert attempt.repairs == {"call_dropped:cut_off"}


@pytest.mark.parametrize("rest", [",", ", ", "", "]"])
def test_what_stands_between_calls_is_no_call_that_was_left_out(rest: str) -> None:
    whole, attempt = turn([TEXT[: TEXT.index(", {")] + rest])
    assert shown(whole) == ("", [FIRST], "length")
    assert attempt.repairs == set()


@STREAMED
def test_a_call_that_had_begun_is_what_it_would_be_from_a_backend_with_tools(stream: bool) -> None:
    half = TEXT[: TEXT.index(SECOND) + 9]
    whole, attempt = turn([half], stream=stream)
    assert shown(whole) == ("", [FIRST, SECOND[:9]], "length")
    assert [finding.code for finding in attempt.findings] == ["malformed_tool_arguments"]
    native: list[Any] = []
    plan = read(body(tools=[tool("f", {"type": "object"})], stream=stream))
    other = Attempt(plan, NATIVE, lambda *sent: native.append(sent), lambda: "call_1")
    calls = (CallFragment(0, "a", "f", FIRST), CallFragment(1, "b", "f", SECOND[:9]))
    other.feed([Fragment(calls=calls, finish="length")])
    other.finish(done=True)
    assert shown(join_sent(native)[0]) == shown(whole)


def test_a_strict_call_that_was_cut_off_is_left_out() -> None:
    whole, attempt = turn(['{"tool_calls": [' + NAMED + '{"x'], strict=True)
    assert shown(whole) == ("", [], "length")
    assert attempt.repairs == {"call_dropped:cut_off"}


@STREAMED
@pytest.mark.parametrize(
    "text", ["I would rather", '{"na', '[{"name": "g"', '{"tool": "f", "input": {']
)
def test_what_a_server_says_that_ignores_the_schema_is_text(text: str, stream: bool) -> None:
    whole, _ = turn([text], stream=stream)
    assert shown(whole) == (text, [], "length")


@STREAMED
def test_the_clients_own_form_is_text_however_short_it_is_cut(stream: bool) -> None:
    form = '{"to": "Ann", "body": {"a": [1, 2]}}'
    for cut in range(len(form)):
        whole, _ = turn([form[:cut]], stream=stream, way=UNION, choice="auto")
        assert shown(whole) == (form[:cut], [], "length")


@STREAMED
def test_a_beginning_of_calls_is_no_text_where_they_were_not_demanded(stream: bool) -> None:
    whole, _ = turn([TEXT[:30]], stream=stream, way=UNION, choice="auto")
    assert shown(whole) == ("", [], "length")


@STREAMED
def test_what_a_free_model_leaves_half_done_stays_text(stream: bool) -> None:
    whole, _ = turn([TEXT[:30]], stream=stream, way=Prompted(format="generic"))
    assert shown(whole) == (TEXT[:30], [], "length")


CALL = f"{NAMED}{FIRST}}}"
OWN_MARKUP = [
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"[TOOL_CALLS][{CALL}]",
    f"<|tool_call_begin|>\n{CALL}\n<|tool_call_end|>",
    f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{CALL}\n</tool_call>",
]


@STREAMED
@pytest.mark.parametrize("text", OWN_MARKUP)
def test_markup_around_the_calls_of_a_server_that_ignores_the_schema_is_left_out(
    text: str, stream: bool
) -> None:
    for pieces in ([text], text):
        content, calls, reason = shown(turn(pieces, stream=stream, finish="stop")[0])
        assert (content, reason) == ("", "tool_calls")
        assert calls == [FIRST] * text.count(CALL)


@STREAMED
def test_prose_beside_such_a_call_stays(stream: bool) -> None:
    text = f"I look <b>it</b> up, [see] above.\n<tool_call>{CALL}</tool_call>\n"
    for pieces in ([text], text):
        content, calls, _ = shown(turn(pieces, stream=stream, finish="stop")[0])
        assert (content, calls) == ("I look <b>it</b> up, [see] above.", [FIRST])


@STREAMED
def test_a_thought_in_front_of_such_a_call_is_reasoning(stream: bool) -> None:
    text = f"<think>It is far.</think>\n<tool_call>{CALL}</tool_call>"
    for pieces in ([text], text):
        whole, _ = turn(pieces, stream=stream, finish="stop")
        assert shown(whole)[:2] == ("", [FIRST])
        assert whole.reasoning == "It is far."
