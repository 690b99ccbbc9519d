"""A call in text that cannot be read is asked for again, like a native one; then it is text."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.contract.chatting import Backend, Client, Recitation, chat, speaking
from tests.contract.wire import body, tool

from toolwire.backends.base import BackendRequest
from toolwire.protocol.fragments import CallFragment, Fragment

TOOLS = [tool("read", {"type": "object", "properties": {"p": {"type": "string"}}})]
STRICT = [
    tool(
        "read",
        {
            "type": "object",
            "properties": {"p": {"type": "string"}},
            "required": ["p"],
            "additionalProperties": False,
        },
        strict=True,
    )
]
BAD = '<tool_call>\n{"name": "read", "arguments": {"p": "say "hi""}}\n</tool_call>'
GOOD = '<tool_call>\n{"name": "read", "arguments": {"p": "a"}}\n</tool_call>'
MODES = pytest.mark.parametrize("mode", ["hybrid", "prompted"])
STREAMED = pytest.mark.parametrize("stream", [True, False])


@dataclass
class Learning(Backend):
    """Says something else each time it is asked."""

    answers: Sequence[str] = field(default=())

    async def open(self, outgoing: BackendRequest) -> Recitation:
        text = self.answers[min(len(self.opened), len(self.answers) - 1)]
        self.blocks = [[Fragment(text=char)] for char in text] + [[Fragment(finish="stop")]]
        return await super().open(outgoing)


def outcome(client: Client, *, stream: bool) -> tuple[str, list[str], str]:
    """The text, the arguments of each call, and why the answer ended."""
    choices = [chunk["choices"][0] for chunk in client.chunks] if stream else client.json["choices"]
    said = [choice["delta" if stream else "message"] for choice in choices]
    calls = [call["function"] for part in said for call in part.get("tool_calls") or ()]
    arguments = [call["arguments"] for call in calls if call["arguments"]]
    text = "".join(part.get("content") or "" for part in said)
    return text, arguments, choices[-1]["finish_reason"]


@MODES
@STREAMED
def test_it_is_asked_for_again_and_the_client_sees_nothing_of_it(stream: bool, mode: str) -> None:
    client = chat(body(tools=TOOLS, stream=stream), Learning(answers=[BAD, GOOD]), mode=mode)
    assert outcome(client, stream=stream) == ("", ['{"p": "a"}'], "tool_calls")
    assert len(client.asked) == 2
    assert "was not made" in str(client.asked[1].messages[-1].content)


@MODES
@STREAMED
@pytest.mark.parametrize("around", [("", ""), ("Look: ", "\nThat is it.")])
def test_a_model_that_repeats_it_has_said_text(
    around: tuple[str, str], stream: bool, mode: str
) -> None:
    text = BAD.join(around)
    client = chat(body(tools=TOOLS, stream=stream), Learning(answers=[text]), mode=mode)
    assert outcome(client, stream=stream) == (text, [], "stop")
    assert len(client.asked) == 2
    if not stream:
        assert client.headers["toolwire-findings"] == "malformed_tool_arguments:read"
        assert client.headers["toolwire-repairs"] == "asked_again:malformed_tool_arguments"


@MODES
def test_a_call_beside_it_is_made(mode: str) -> None:
    answers = [f"{GOOD}\n{BAD}"]
    client = chat(body(tools=TOOLS), Learning(answers=answers), mode=mode, asks=0)
    text, arguments, reason = outcome(client, stream=False)
    assert (text.strip(), arguments, reason) == (BAD, ['{"p": "a"}'], "tool_calls")


@MODES
@STREAMED
def test_the_text_around_calls_keeps_its_order(stream: bool, mode: str) -> None:
    text = f"One {BAD} two {GOOD} three {BAD} four"
    backend = Learning(answers=[text])
    client = chat(body(tools=TOOLS, stream=stream), backend, mode=mode, asks=0)
    said = text.replace(GOOD, "")
    assert outcome(client, stream=stream) == (said, ['{"p": "a"}'], "tool_calls")


@STREAMED
def test_so_does_the_text_beside_a_native_call(stream: bool) -> None:
    call = CallFragment(0, "a", "read", '{"p": "a"}')
    said = [Fragment(text=char) for char in f"One {BAD} two"]
    backend = speaking(Fragment(calls=(call,)), *said, Fragment(finish="tool_calls"))
    client = chat(body(tools=TOOLS, stream=stream), backend, mode="hybrid", asks=0)
    assert outcome(client, stream=stream) == (f"One {BAD} two", ['{"p": "a"}'], "tool_calls")


@MODES
def test_it_is_not_the_only_call_that_may_be_made(mode: str) -> None:
    raw = body(tools=TOOLS, parallel_tool_calls=False)
    client = chat(raw, Learning(answers=[f"{BAD}\n{GOOD}\n{GOOD}"]), mode=mode, asks=0)
    text, arguments, reason = outcome(client, stream=False)
    assert (text.strip(), arguments, reason) == (BAD, ['{"p": "a"}'], "tool_calls")


@MODES
@STREAMED
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BAD.replace("</tool_call>", "And so on."), "stop"),
        (BAD[: BAD.index("}}")], "length"),
        (BAD[: BAD.index("hi")], "length"),
    ],
)
def test_it_is_truncated_only_if_its_brackets_are_open(
    text: str, reason: str, stream: bool, mode: str
) -> None:
    backend = Learning(answers=[text])
    client = chat(body(tools=TOOLS, stream=stream), backend, mode=mode, asks=0)
    assert outcome(client, stream=stream) == (text, [], reason)


@MODES
@pytest.mark.parametrize("tools", [TOOLS, STRICT])
def test_one_that_is_demanded_or_strict_is_an_error(tools: list[object], mode: str) -> None:
    choice = "required" if tools is TOOLS else "auto"
    client = chat(body(tools=tools, tool_choice=choice), Learning(answers=[BAD]), mode=mode)
    assert client.status == 502
    assert client.json["error"]["code"] == "malformed_tool_arguments"


@pytest.mark.parametrize("asks", [0, 1])
def test_so_is_a_native_one_however_often_it_is_asked_for(asks: int) -> None:
    call = CallFragment(0, "a", "read", '{"p": oops}')
    backend = speaking(Fragment(calls=(call,)), Fragment(finish="tool_calls"))
    client = chat(body(tools=TOOLS, tool_choice="required"), backend, asks=asks)
    assert client.status == 502
    assert client.json["error"]["code"] == "malformed_tool_arguments"
    assert len(client.asked) == asks + 1


def test_markup_that_names_no_tool_is_text() -> None:
    text = '<tool_call>\n{"name": "other", "arguments": {"p": oops}}\n</tool_call>'
    client = chat(body(tools=TOOLS), speaking(Fragment(text=text), Fragment(finish="stop")))
    assert outcome(client, stream=False) == (text, [], "stop")
    assert len(client.asked) == 1


@MODES
def test_the_text_before_it_is_not_lost_in_a_stream(mode: str) -> None:
    backend = Learning(answers=[f"Look: {BAD}", f"Once more: {BAD}."])
    client = chat(body(tools=TOOLS, stream=True), backend, mode=mode)
    assert outcome(client, stream=True) == (f"Look: \n\nOnce more: {BAD}.", [], "stop")
