"""Input items -> messages, seen by what the backend is asked."""

from typing import Any

import pytest
from tests.contract.chatting import speaking
from tests.unit.surfaces.responses.responding import (
    END,
    PATCH,
    WEATHER,
    Answer,
    ask,
    made,
    result,
    user,
)

from toolwire.protocol.content import ImagePart, TextPart, text_of
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.requests import ChatMessage
from toolwire.surfaces.responses.reasoning import seal

PNG = "data:image/png;base64,AAAA"


def asked(*items: Any, **fields: Any) -> list[ChatMessage]:
    """The messages that the backend gets for these items."""
    answer = answered(*items, **fields)
    return list(answer.asked[0].messages)


def answered(*items: Any, **fields: Any) -> Answer:
    fields = {"tools": [WEATHER, PATCH], **fields}
    answer = ask(speaking(Fragment(text="ok"), END), input=list(items), **fields)
    assert answer.status == 200, answer.written
    return answer


def roles(messages: list[ChatMessage]) -> list[str]:
    return [message.role for message in messages]


def test_a_string_is_what_the_user_says() -> None:
    (message,) = ask(input="hello").asked[0].messages
    assert (message.role, message.content) == ("user", "hello")


def test_an_item_without_a_type_is_a_message() -> None:
    assert asked({"role": "user", "content": "hi"})[0].content == "hi"


def test_instructions_and_leading_developer_texts_are_one_system_message() -> None:
    messages = asked(
        {"type": "message", "role": "developer", "content": "one"},
        {"role": "system", "content": [{"type": "input_text", "text": "two"}]},
        user("environment"),
        user("task"),
        instructions="zero",
    )
    assert [(m.role, m.content) for m in messages] == [
        ("system", "zero\n\none\n\ntwo"),
        ("user", "environment\n\ntask"),
    ]


def test_a_later_developer_text_stays_where_it_is() -> None:
    messages = asked(
        user("a"),
        {"role": "assistant", "content": "b"},
        {"role": "developer", "content": "now be brief"},
        user("c"),
    )
    assert roles(messages) == ["user", "assistant", "user"]
    assert messages[2].content == "<system-reminder>\nnow be brief\n</system-reminder>\n\nc"


def test_all_that_the_assistant_did_is_one_message() -> None:
    messages = asked(
        user("a"),
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "see"}]},
        made("c1"),
        made("c2"),
        {"role": "assistant", "content": "and"},
        result("c1", "one"),
        result("c2", "two"),
    )
    assert roles(messages) == ["user", "assistant", "tool", "tool"]
    assert messages[1].reasoning == "hm"
    assert messages[1].content == "see\n\nand"
    assert [call.call_id for call in messages[1].calls] == ["c1", "c2"]


def test_a_call_after_a_result_is_another_turn() -> None:
    items = (made("c1"), result("c1", "one"), made("c2"), result("c2", "two"))
    assert roles(asked(user("a"), *items)) == ["user", *["assistant", "tool"] * 2]


def test_results_come_in_the_order_of_their_calls() -> None:
    messages = asked(user("a"), made("c1"), made("c2"), result("c2", "two"), result("c1", "one"))
    assert [message.content for message in messages[2:]] == ["one", "two"]


def test_a_late_result_is_moved_to_its_call_and_that_is_reported() -> None:
    answer = answered(user("a"), made("c1"), user("b"), result("c1", "one"), user("c"))
    assert roles(list(answer.asked[0].messages)) == ["user", "assistant", "tool", "user"]
    assert "result_moved:c1" in answer.headers["toolwire-repairs"]


def test_the_last_of_two_results_counts_and_that_is_reported() -> None:
    answer = answered(user("a"), made("c1"), result("c1", "one"), result("c1", "two"))
    assert answer.asked[0].messages[2].content == "two"
    assert "result_repeated:c1" in answer.headers["toolwire-repairs"]


def test_a_result_without_a_call_is_left_out_and_reported() -> None:
    answer = answered(user("a"), result("c9", "one"))
    assert roles(list(answer.asked[0].messages)) == ["user"]
    assert "orphan_result:c9" in answer.headers["toolwire-repairs"]


def test_a_call_without_a_result_gets_one_and_that_is_reported() -> None:
    answer = answered(user("a"), made("c1"), user("b"))
    assert roles(list(answer.asked[0].messages)) == ["user", "assistant", "tool", "user"]
    assert "missing_result:c1" in answer.headers["toolwire-repairs"]


def test_a_result_without_an_id_belongs_to_the_only_open_call() -> None:
    answer = answered(user("a"), made("c1"), {**result("c1", "one"), "call_id": None})
    assert answer.asked[0].messages[2].content == "one"
    assert "call_id_missing:input[2]" in answer.headers["toolwire-repairs"]


def test_arguments_that_are_not_json_do_not_stop_the_conversation() -> None:
    answer = answered(user("a"), made("c1", arguments="{not json"), result("c1", "bad"))
    assert "arguments_quoted:c1" in answer.headers["toolwire-repairs"]


def test_a_custom_call_is_a_call_of_the_wrapped_function() -> None:
    messages = asked(
        user("a"),
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** x\r\n"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    )
    (call,) = messages[1].calls
    assert (call.name, call.arguments) == ("apply_patch", '{"input":"*** x\\r\\n"}')
    assert messages[2].content == "ok"


SUMMARY = [{"type": "summary_text", "text": "summary"}]


@pytest.mark.parametrize(
    ("fields", "reasoning"),
    [
        ({"summary": SUMMARY, "content": None, "encrypted_content": seal("mine")}, "mine"),
        ({"summary": SUMMARY, "content": [{"type": "reasoning_text", "text": "raw"}]}, "raw"),
        ({"summary": SUMMARY, "content": None, "encrypted_content": "gAAAforeign"}, "summary"),
    ],
)
def test_reasoning_goes_back_to_the_model(fields: Any, reasoning: str) -> None:
    thought = {"type": "reasoning", "id": "rs_1", **fields}
    messages = asked(user("a"), thought, made("c1"), result("c1", "one"))
    assert messages[1].reasoning == reasoning


def test_the_reasoning_of_another_provider_is_left_out_and_reported() -> None:
    foreign = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAforeign"}
    answer = answered(user("a"), foreign, made("c1"), result("c1", "one"))
    assert answer.asked[0].messages[1].reasoning is None
    assert "input[1].encrypted_content" in answer.headers["toolwire-ignored-params"]


@pytest.mark.parametrize(("envelope", "kept"), [("gAAAforeign", True), ("tw1.damaged", False)])
def test_only_the_envelope_of_another_provider_is_kept_for_it(envelope: str, kept: bool) -> None:
    thought = {"type": "reasoning", "summary": SUMMARY, "encrypted_content": envelope}
    message = asked(user("a"), thought, made("c1"), result("c1", "one"))[1]
    assert message.encrypted_reasoning == ((envelope,) if kept else ())
    assert message.reasoning == "summary"


def test_images_of_results_come_after_all_results_of_the_turn() -> None:
    messages = asked(
        user("a"),
        made("c1", "view_image"),
        made("c2"),
        result("c1", [{"type": "input_image", "image_url": PNG, "detail": "original"}]),
        result("c2", [{"type": "input_text", "text": "rain"}, {"type": "input_text", "text": "x"}]),
    )
    assert roles(messages) == ["user", "assistant", "tool", "tool", "user"]
    assert [messages[2].content, messages[3].content] == ["(image, see below)", "rain\nx"]
    assert messages[4].content == (
        TextPart("The output of view_image:"),
        ImagePart(PNG, "high"),
    )


def test_a_screenshot_is_shown_although_what_asked_for_it_is_left_out() -> None:
    shot = {"type": "computer_screenshot", "image_url": PNG}
    output = {"type": "computer_call_output", "call_id": "c1", "output": shot}
    call = {"type": "computer_call", "call_id": "c1", "action": {"type": "screenshot"}}
    answer = answered(user("a"), call, output)
    assert answer.asked[0].messages[0].content == (TextPart("a"), ImagePart(PNG))
    assert "input[1]:computer_call" in answer.headers["toolwire-ignored-params"]


@pytest.mark.parametrize(
    "kind",
    ["web_search_call", "compaction", "image_generation_call", "mcp_list_tools", "never_heard_of"],
)
def test_an_item_of_another_type_is_left_out_and_reported(kind: str) -> None:
    answer = answered(user("a"), {"type": kind, "id": "x", "anything": {}})
    assert f"input[1]:{kind}" in answer.headers["toolwire-ignored-params"]
    assert roles(list(answer.asked[0].messages)) == ["user"]


def test_what_one_agent_writes_to_another_names_both() -> None:
    parts = [{"type": "input_text", "text": "go"}, {"type": "encrypted_content", "data": "x"}]
    item = {"type": "agent_message", "author": "root", "recipient": "worker", "content": parts}
    text = text_of(asked(user("a"), item)[0].content)
    assert text == "a\n\nMessage from root to worker:\n\ngo\n[encrypted content]"


SHELL = {"type": "shell", "environment": {"type": "local"}}


@pytest.mark.parametrize(
    ("item", "output", "arguments", "text"),
    [
        (
            {"type": "shell_call", "action": {"commands": ["ls"], "timeout_ms": None}},
            {
                "type": "shell_call_output",
                "output": [
                    {"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 2}}
                ],
            },
            '{"commands":["ls"]}',
            "a\nb\n[exit code 2]",
        ),
        (
            {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"], "env": {}}},
            {"type": "local_shell_call_output", "output": "a"},
            '{"command":["ls"]}',
            "a",
        ),
        (
            {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a"}},
            {"type": "apply_patch_call_output", "status": "completed"},
            '{"type":"delete_file","path":"a"}',
            "completed",
        ),
    ],
)
def test_calls_of_built_in_tools_are_calls(
    item: Any, output: Any, arguments: str, text: str
) -> None:
    messages = asked(user("a"), {**item, "call_id": "c1", "id": "i1"}, {**output, "call_id": "c1"})
    assert messages[1].calls[0].arguments == arguments
    assert messages[2].content == text


def test_the_output_of_a_local_shell_may_name_the_item() -> None:
    action = {"type": "exec", "command": ["ls"], "env": {}}
    call = {"type": "local_shell_call", "id": "i1", "call_id": "c1", "action": action}
    output = {"type": "local_shell_call_output", "id": "i1", "output": "a"}
    assert asked(user("a"), call, output)[2].content == "a"


@pytest.mark.parametrize(
    ("item", "param", "code"),
    [
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "id", "missing"),
        ({"type": "function_call", "call_id": "c", "arguments": "{}"}, "name", "missing"),
        ({"type": "function_call", "call_id": "c", "name": "f"}, "arguments", "missing"),
        ({"type": "function_call_output", "output": "x"}, "call_id", "missing"),
        ({"type": "message", "role": "robot", "content": "x"}, "role", "invalid_value"),
        ({"type": "message", "role": "user"}, "content", "missing"),
        ({"role": "user", "content": 3}, "content", "invalid_type"),
        ({"role": "user", "content": [{"type": "input_text"}]}, "content[0].text", "missing"),
        (
            {"role": "user", "content": [{"type": "input_image", "file_id": "f"}]},
            "content[0].file_id",
            "unsupported_value",
        ),
        (
            {"role": "user", "content": [{"type": "input_file", "file_url": "http://a"}]},
            "content[0].file_url",
            "unsupported_value",
        ),
        (made("c" * 300), "call_id", "string_above_max_length"),
    ],
)
def test_what_is_wrong_with_an_item_is_said_with_its_place(
    item: Any, param: str, code: str
) -> None:
    answer = ask(input=[user("a"), item])
    error = answer.json["error"]
    assert answer.status == 400
    assert error["param"] == f"input[1].{param}"
    assert error["code"].startswith(code)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain,h%20i"}, "h i"),
        ({"type": "input_file", "file_data": "data:application/json;base64,e30="}, "{}"),
        ({"type": "refusal", "refusal": "no"}, "no"),
    ],
)
def test_a_part_that_is_text_becomes_text(part: Any, text: str) -> None:
    content = asked({"role": "user", "content": [part]})[0].content
    assert isinstance(content, str)
    assert content.endswith(text)


def test_input_that_is_nested_too_deeply_is_refused() -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    refused = ask(input=[user("a"), {"type": "unheard", "deep": deep}])
    assert (refused.status, refused.json["error"]["param"]) == (400, "input")


def test_a_part_of_another_type_is_left_out_and_reported() -> None:
    parts = [{"type": "input_text", "text": "a"}, {"type": "hologram"}]
    answer = answered({"role": "user", "content": parts})
    assert "input[0].content[1]:hologram" in answer.headers["toolwire-ignored-params"]
