"""The rules between messages: what is refused, in which order results go out, what is mended."""

import json

import pytest

from toolwire.errors import RequestError
from toolwire.gateway.history import NO_RESULT, QUOTED, History, check_history
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall
from toolwire.surfaces.openai.words import worded

USER = ChatMessage("user", "hello")


def asked(*call_ids: str, arguments: str = "{}", name: str | None = None) -> ChatMessage:
    calls = tuple(AssistantCall(call_id, "f", arguments) for call_id in call_ids)
    return ChatMessage("assistant", None, calls, reasoning="hm", name=name)


def result(call_id: str, content: str = "ok") -> ChatMessage:
    return ChatMessage("tool", content, call_id=call_id)


def refusal(*messages: ChatMessage) -> RequestError:
    with pytest.raises(RequestError) as caught:
        check_history(messages)
    error = caught.value
    error.message, error.param = worded(error)
    return error


def shape(history: History) -> list[str]:
    """Roles, calls and results in short: `u`, `a(x,y)`, `t:x`."""
    words = []
    for message in history.messages:
        calls = ",".join(call.call_id for call in message.calls)
        tail = f":{message.call_id}" if message.call_id else ""
        words.append(message.role[0] + (f"({calls})" if calls else "") + tail)
    return words


def repaired(*messages: ChatMessage) -> tuple[list[str], list[str]]:
    history = check_history(messages, repair=True)
    return shape(history), history.repairs


class TestRefused:
    def test_a_result_without_a_call(self) -> None:
        assert refusal(USER, result("a")).param == "messages.[1].role"

    def test_a_result_after_all_were_answered(self) -> None:
        error = refusal(asked("a"), result("a"), result("z"))
        assert "preceeding message with 'tool_calls'" in error.message
        assert error.param == "messages.[2].role"

    def test_a_result_with_an_id_of_no_call(self) -> None:
        error = refusal(asked("a", "b"), result("b"), result("z"))
        assert error.message.endswith(
            "did not have response messages: a. "
            "'messages[2].tool_call_id' is 'z', which is none of them."
        )

    def test_a_second_result_for_one_call(self) -> None:
        error = refusal(asked("a"), result("a"), result("a"))
        assert "answered twice" in error.message
        assert error.param == "messages.[2].tool_call_id"

    def test_a_result_of_an_earlier_turn(self) -> None:
        error = refusal(asked("a"), result("a"), asked("b"), result("a"))
        assert "belongs to an earlier turn" in error.message

    @pytest.mark.parametrize("role", ["user", "assistant", "system", "developer"])
    def test_a_call_not_answered_before_the_next_message(self, role: str) -> None:
        error = refusal(asked("a", "b"), result("a"), ChatMessage(role, "x"))  # type: ignore[arg-type]
        assert error.message.endswith("did not have response messages: b")
        assert error.param == "messages.[2].role"

    def test_a_call_never_answered(self) -> None:
        assert refusal(USER, asked("a")).param == "messages.[2].role"

    def test_one_id_for_two_calls(self) -> None:
        assert refusal(asked("a", "a")).param == "messages[0].tool_calls[1].id"
        error = refusal(asked("a"), result("a"), asked("b", "a"))
        assert error.param == "messages[2].tool_calls[1].id"

    def test_only_so_much_of_a_history_is_repeated(self) -> None:
        error = refusal(asked(*(f"call_{at}" for at in range(5_000))))
        assert "and 4900 more" in error.message
        assert len(error.message) < 2_000
        assert len(refusal(asked("a"), result("z" * 9_999)).message) < 500


class TestAccepted:
    @pytest.mark.parametrize(
        "arguments", ["", " ", "{}", '{"a": [1, {"b": null}]}', '\n{ "a" : 1 }']
    )
    def test_arguments_that_are_an_object_or_nothing(self, arguments: str) -> None:
        history = check_history([asked("a", arguments=arguments), result("a")])
        assert history.calls[0].arguments == arguments

    @pytest.mark.parametrize("repair", [False, True])
    @pytest.mark.parametrize(
        "arguments",
        ['{"city": "Par', "{", "[1]", "x", "1", '"x"', "{} {}", '{"a": 1e}', '{"a": ' + "[" * 300],
    )
    def test_arguments_that_are_no_object_are_quoted(self, arguments: str, repair: bool) -> None:
        history = check_history([asked("a", arguments=arguments), result("a")], repair=repair)
        assert json.loads(history.calls[0].arguments) == {QUOTED: arguments}
        assert history.repairs == ["arguments_quoted:a"]

    @pytest.mark.parametrize("depth", [300, 3_000, 30_000])
    def test_arguments_that_are_too_deep_are_quoted(self, depth: int) -> None:
        arguments = '{"a":' * depth + "1" + "}" * depth
        history = check_history([asked("a", arguments=arguments), result("a")])
        assert json.loads(history.calls[0].arguments) == {QUOTED: arguments}

    def test_half_a_surrogate_pair_is_quoted(self) -> None:
        history = check_history([asked("a", arguments="\ud800"), result("a")])
        assert json.loads(history.calls[0].arguments) == {QUOTED: "?"}

    @pytest.mark.parametrize(
        ("arguments", "read"),
        [("null", {}), ("{'a': True,}", {"a": True}), ('"{\\"a\\": 1}"', {"a": 1})],
    )
    def test_arguments_with_one_reading_are_repaired(self, arguments: str, read: object) -> None:
        history = check_history([asked("a", arguments=arguments), result("a")])
        assert json.loads(history.calls[0].arguments) == read
        assert history.repairs == ["arguments_repaired:a"]

    def test_the_text_of_a_custom_call_is_not_json(self) -> None:
        call = AssistantCall("a", "sh", "ls {", "custom")
        assert check_history([ChatMessage("assistant", None, (call,)), result("a")]).calls == [call]

    def test_a_call_of_a_tool_that_is_gone(self) -> None:
        assert shape(check_history([asked("a"), result("a"), USER])) == ["a(a)", "t:a", "u"]

    @pytest.mark.parametrize("call_id", ["x", "é", "functions.f:0", "a b", "c" * 256])
    def test_any_id(self, call_id: str) -> None:
        assert check_history([asked(call_id), result(call_id)]).calls[0].call_id == call_id

    def test_results_go_out_in_call_order(self) -> None:
        """Some models insist on it, and a prompt that is always the same can be cached."""
        order = check_history([asked("a", "b", "c"), result("c"), result("a"), result("b"), USER])
        assert shape(order) == ["a(a,b,c)", "t:a", "t:b", "t:c", "u"]
        assert order.repairs == []

    def test_each_turn_has_its_own_order(self) -> None:
        history = check_history(
            [asked("a", "b"), result("b"), result("a"), asked("d", "c"), result("c"), result("d")]
        )
        assert shape(history) == ["a(a,b)", "t:a", "t:b", "a(d,c)", "t:d", "t:c"]

    def test_a_message_that_keeps_the_rules_is_the_same_message(self) -> None:
        messages = [USER, asked("a", name="bot"), result("a")]
        assert check_history(messages).messages == messages


class TestRepaired:
    def test_a_result_without_a_call_is_left_out(self) -> None:
        assert repaired(USER, result("z"), USER) == (["u", "u"], ["orphan_result:z"])

    def test_a_second_result_is_left_out(self) -> None:
        history = check_history([asked("a"), result("a", "1"), result("a", "2")], repair=True)
        assert [message.content for message in history.messages] == [None, "1"]
        assert history.repairs == ["orphan_result:a"]

    def test_a_missing_result_is_made_up_and_says_so(self) -> None:
        history = check_history([asked("a", "b"), result("b"), USER], repair=True)
        assert shape(history) == ["a(a,b)", "t:a", "t:b", "u"]
        assert history.messages[1].content == NO_RESULT
        assert history.repairs == ["missing_result:a"]

    def test_a_missing_result_at_the_end_is_made_up_too(self) -> None:
        assert repaired(asked("a"))[0] == ["a(a)", "t:a"]

    def test_a_result_that_came_too_late_is_moved(self) -> None:
        history = check_history([asked("a"), USER, result("a", "late")], repair=True)
        assert shape(history) == ["a(a)", "t:a", "u"]
        assert history.messages[1].content == "late"
        assert history.repairs == ["result_moved:a"]

    def test_a_result_behind_further_calls_is_not_moved(self) -> None:
        assert repaired(asked("a"), USER, asked("b"), result("a"), result("b")) == (
            ["a(a)", "t:a", "u", "a(b)", "t:b"],
            ["missing_result:a", "orphan_result:a"],
        )

    def test_a_call_with_an_id_of_another_is_renamed_with_its_result(self) -> None:
        messages = [asked("a"), result("a", "1"), asked("a", "b"), result("b"), result("a", "2")]
        history = check_history(messages, repair=True)
        assert shape(history) == ["a(a)", "t:a", "a(a_2,b)", "t:a_2", "t:b"]
        assert history.messages[3].content == "2"
        assert history.repairs == ["repeated_call_id:a"]

    def test_two_calls_of_one_id_get_their_results_in_order(self) -> None:
        history = check_history(
            [asked("a", "a", "a_2", name="bot"), result("a", "1"), result("a", "2"), result("a_2")],
            repair=True,
        )
        assert shape(history) == ["a(a,a_3,a_2)", "t:a", "t:a_3", "t:a_2"]
        assert [message.content for message in history.messages[1:3]] == ["1", "2"]
        assert (history.messages[0].reasoning, history.messages[0].name) == ("hm", "bot")

    def test_an_id_that_every_turn_uses_is_renamed_each_time(self) -> None:
        history = check_history([asked("a"), result("a")] * 3, repair=True)
        assert shape(history) == ["a(a)", "t:a", "a(a_2)", "t:a_2", "a(a_3)", "t:a_3"]

    def test_a_long_id_stays_short_enough(self) -> None:
        history = check_history([asked("a" * 256), result("a" * 256)] * 2, repair=True)
        assert len(history.calls[1].call_id) <= 256

    def test_a_repaired_history_keeps_the_rules(self) -> None:
        broken = [result("z"), asked("a", "b", "a"), result("b"), USER, result("a"), asked("c")]
        mended = check_history(broken, repair=True).messages
        assert check_history(mended).messages == mended
