"""Tools that are left out or shortened for small models."""

import json
from typing import Any

import pytest
from tests.contract.chatting import Client, chat, speaking
from tests.contract.wire import READER, USER, asked, body, call, result, tool

from toolwire.errors import RequestError
from toolwire.gateway.plan import Plan, make_plan
from toolwire.gateway.tool_limits import ToolLimiter, ToolLimits, shortened
from toolwire.protocol.fragments import Fragment

LONG = "Reads a file. It must exist. " + "There is much more to say about it, " * 20
SCHEMA = {
    "type": "object",
    "description": "All of it. " + "x" * 100,
    "properties": {
        "description": {"type": "string", "description": "y" * 100, "default": "d" * 100},
        "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
    },
    "$defs": {"item": {"type": "string", "description": "z" * 100, "enum": ["e" * 100]}},
}
TOOLS = [tool("Read", SCHEMA, description=LONG), tool("Write"), tool("mcp__git__log"), tool("Bash")]


def limited(limits: ToolLimits, **fields: Any) -> Plan:
    raw = body(**{"tools": TOOLS, **fields})
    return make_plan(READER.read(raw), repair_history=False, tool_limiter=ToolLimiter(limits))


def offered(limits: ToolLimits, **fields: Any) -> list[str]:
    return list(limited(limits, **fields).outgoing.tools.tools)


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        (ToolLimits(("Read", "Bash")), ["Read", "Bash"]),
        (ToolLimits(("mcp__*",)), ["mcp__git__log"]),
        (ToolLimits(("*",), ("mcp__*", "Bash")), ["Read", "Write"]),
        (ToolLimits(denied=("*a*",)), ["Write", "mcp__git__log"]),
        (ToolLimits(("read",)), []),
        (ToolLimits(()), []),
        (ToolLimits(denied=("Other",)), ["Read", "Write", "mcp__git__log", "Bash"]),
    ],
)
def test_the_model_is_offered_what_is_allowed_and_not_denied(
    limits: ToolLimits, names: list[str]
) -> None:
    assert offered(limits) == names


def test_a_tool_that_was_renamed_for_backends_is_known_by_the_clients_name() -> None:
    raw = body(tools=[tool("git.log/v1"), tool("b")])
    request = READER.read(raw, lenient_names=True)
    limiter = ToolLimiter(ToolLimits(("git.*",)))
    plan = make_plan(request, repair_history=False, tool_limiter=limiter)
    assert list(plan.outgoing.tools.originals.values()) == ["git.log/v1"]
    assert len(plan.outgoing.tools.tools) == 1


def test_what_was_done_is_told() -> None:
    plan = limited(ToolLimits(("Read", "Write"), description_chars=30))
    assert plan.request.adjusted == ("tools",)
    assert plan.repairs == (
        "tool_dropped:mcp__git__log", "tool_dropped:Bash", "tool_descriptions_cut:1",
    )  # fmt: skip


def test_limits_that_change_nothing_are_not_told() -> None:
    request = READER.read(body(tools=TOOLS))
    plan = make_plan(
        request, repair_history=False, tool_limiter=ToolLimiter(ToolLimits(("*",), (), 10_000))
    )
    assert plan.request is request


def test_descriptions_are_cut_and_nothing_else() -> None:
    plan = limited(ToolLimits(description_chars=30, parameter_description_chars=20))
    read = plan.outgoing.tools.tools["Read"]
    assert read.description == "Reads a file. It must exist."
    properties = read.parameters["properties"]
    assert properties["description"]["description"] == "y" * 19 + "…"
    assert properties["description"]["default"] == "d" * 100
    assert read.parameters["description"] == "All of it. "[:-1]
    assert read.parameters["$defs"]["item"] == {
        "type": "string", "description": "z" * 19 + "…", "enum": ["e" * 100],
    }  # fmt: skip


def test_no_characters_are_no_description() -> None:
    plan = limited(ToolLimits(description_chars=0, parameter_description_chars=0))
    read = plan.outgoing.tools.tools["Read"]
    assert read.description is None
    assert "description" not in read.parameters
    assert list(read.parameters["properties"]["description"]) == ["type", "default"]


@pytest.mark.parametrize("most", range(40))
@pytest.mark.parametrize("text", ["One. Two three. Four five six. Seven", "word " * 9, "x" * 41])
def test_a_shortened_text_is_never_too_long_and_begins_as_the_whole(text: str, most: int) -> None:
    short = shortened(text, most) or ""
    assert len(short) <= most
    assert text.startswith(short.removesuffix("…"))
    assert bool(short) is bool(most)


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "function": {"name": "Bash"}},
        {"type": "allowed_tools", "allowed_tools": {
            "mode": "required", "tools": [{"function": {"name": "Bash"}}]}},
    ],
)  # fmt: skip
def test_a_choice_of_a_tool_that_is_left_out_is_a_clear_error(choice: Any) -> None:
    with pytest.raises(RequestError, match=r"'Bash' is not available .* are left: 'Read', 'Write'"):
        limited(ToolLimits(("Read", "Write")), tool_choice=choice)


def test_a_call_cannot_be_required_where_no_tool_is_left() -> None:
    with pytest.raises(RequestError, match="There is no tool to call with this model"):
        limited(ToolLimits(()), tool_choice="required")
    assert offered(ToolLimits(()), tool_choice="auto") == []
    assert offered(ToolLimits(()), tool_choice="none") == []


def test_of_the_allowed_tools_those_stay_that_are_left() -> None:
    names = [{"function": {"name": name}} for name in ("Read", "Bash")]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": names}}
    assert offered(ToolLimits(("Read", "Write")), tool_choice=choice) == ["Read"]
    assert offered(ToolLimits(("Write",)), tool_choice=choice) == []


def test_a_history_with_calls_of_a_tool_that_is_left_out_stays_valid() -> None:
    messages = [USER, asked(call("a", "Bash")), result("a"), USER]
    plan = limited(ToolLimits(("Read",)), messages=messages)
    assert plan.outgoing.messages[1].calls[0].name == "Bash"


def test_the_same_tools_give_the_same_set_in_every_turn() -> None:
    limiter = ToolLimiter(ToolLimits(("Read",), description_chars=30))
    sets = []
    for messages in ([USER], [USER, asked(call("a", "Bash")), result("a")]):
        request = READER.read(body(tools=TOOLS, messages=messages))
        made = make_plan(request, repair_history=False, tool_limiter=limiter)
        sets.append(made.outgoing.tools)
    assert sets[0] is sets[1]


def told(client: Client) -> tuple[str, str]:
    return client.headers["toolwire-adjusted-params"], client.headers["toolwire-repairs"]


@pytest.mark.parametrize("stream", [False, True])
def test_the_client_is_told_in_headers(*, stream: bool) -> None:
    client = chat(
        body(tools=TOOLS, stream=stream),
        speaking(Fragment(text="hi"), Fragment(finish="stop")),
        tool_limiter=ToolLimiter(ToolLimits(("Read",))),
    )
    dropped = ("Write", "mcp__git__log", "Bash")
    assert told(client)[0] == "tools"
    assert set(told(client)[1].split(", ")) == {f"tool_dropped:{name}" for name in dropped}
    assert [list(outgoing.tools.tools) for outgoing in client.asked] == [["Read"]]


def test_the_error_of_a_choice_has_its_place() -> None:
    choice = {"type": "function", "function": {"name": "Bash"}}
    client = chat(
        body(tools=TOOLS, tool_choice=choice),
        speaking(),
        tool_limiter=ToolLimiter(ToolLimits(("Read",))),
    )
    error = json.loads(client.written)["error"]
    assert (client.status, error["param"], error["code"]) == (
        400, "tool_choice", "unsupported_value",
    )  # fmt: skip
