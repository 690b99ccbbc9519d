"""Turns without a conversation: what a client sends, what it gets, and what the model is told."""

import json
from typing import Any

import pytest
from tests.contract.chatting import Client
from tests.unit.surfaces.native.speaking import (
    ASKED,
    TEXT,
    WEATHER,
    Gateway,
    body,
    call_of,
    calling,
    events,
    weather_call,
)

from toolwire.errors import UpstreamRefused
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.usage import TokenUsage

BOTH = pytest.mark.parametrize("stream", [False, True])


def made(client: Client) -> dict[str, Any]:
    """The answer, streamed or whole, as one object without what differs by nature."""
    if client.headers["content-type"] == "application/json":
        answer = client.json
        message = answer["choices"][0]["message"]
        return {
            "text": message["content"] or "",
            "reasoning": message.get("reasoning_content", ""),
            "calls": message.get("tool_calls", []),
            "finish": answer["choices"][0]["finish_reason"],
            "usage": answer["usage"],
            "warnings": answer["warnings"],
            "map": client.headers.get("toolwire-call-map"),
        }
    told = events(client)
    assert [event["type"] for event in told[-2:]] == ["usage", "done"]
    assert client.ended
    return {
        "text": "".join(e["delta"] for e in told if e["type"] == "text.delta"),
        "reasoning": "".join(e["delta"] for e in told if e["type"] == "reasoning.delta"),
        "calls": [e["tool_call"] for e in told if e["type"] == "tool_call"],
        "finish": told[-1]["finish_reason"],
        "usage": told[-2]["usage"],
        "warnings": told[-1]["warnings"],
        "map": told[-1].get("call_map"),
    }


ANSWERS = {
    "text": TEXT,
    "a call": weather_call(),
    "text and two calls": calling(
        ("a", "get_weather", '{"city": "Paris"}'),
        ("b", "get_weather", '{"city":\n "Rome"}'),
        text="Let me see.",
    ),
    "reasoning": (Fragment(reasoning="Hm."), *TEXT),
    "no usage": (Fragment(text="Hello", finish="stop"),),
    "cut off": (Fragment(text="Hel", finish="length"), Fragment(usage=TokenUsage(1, 1))),
    "repaired": calling(("a", "get_weather", '{"city": "Paris",}')),
    "nothing": (Fragment(text="", finish="stop"), Fragment(usage=TokenUsage(1, 0))),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_stream_says_what_the_whole_answer_says(answer: Any) -> None:
    whole = made(Gateway(answer).ask(body()))
    assert made(Gateway(answer).ask(body(stream=True))) == whole


def test_arguments_are_an_object_and_ids_are_ours() -> None:
    client = Gateway(weather_call("provider-id")).ask(body())
    call = call_of(client)
    assert call["function"] == {"name": "get_weather", "arguments": {"city": "Paris"}}
    assert call["type"] == "function"
    assert call["id"].startswith("call_")
    assert len(call["id"]) == 37
    assert b"provider-id" not in client.written
    assert client.json["choices"][0]["finish_reason"] == "tool_calls"
    assert client.json["conversation_id"] is None


def results(call: Any, **result: Any) -> list[Any]:
    """A history with a call and its result."""
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": call["id"], "content": "rain", **result}
    return [ASKED, said, answer]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("rain", "rain"),
        ({"t": [1, None]}, '{"t":[1,null]}'),
        ([{"type": "text"}], '[{"type":"text"}]'),
        (21.5, "21.5"),
        (None, "null"),
        ("", ""),
        (False, "false"),
    ],
)
def test_a_result_is_text_or_any_json(content: Any, told: str) -> None:
    gateway = Gateway(weather_call("x"), TEXT)
    call = call_of(gateway.ask(body()))
    assert gateway.ask(body(*results(call, content=content))).status == 200
    message = gateway.asked[-1].messages[-1]
    assert (message.role, message.content, message.is_error) == ("tool", told, False)


def test_results_are_messages_or_a_list_and_come_in_any_order() -> None:
    gateway = Gateway(
        calling(("a", "get_weather", '{"city":"A"}'), ("b", "get_weather", '{"city":"B"}'))
    )
    answer = gateway.ask(body()).json["choices"][0]["message"]
    gateway.say(TEXT)
    ids = [call["id"] for call in answer["tool_calls"]]
    listed = [{"tool_call_id": each, "content": each} for each in reversed(ids)]
    gateway.ask(body(ASKED, answer, tool_results=listed))
    as_list = gateway.asked[-1].messages
    gateway.ask(body(ASKED, answer, *({"role": "tool", **result} for result in listed)))
    assert gateway.asked[-1].messages == as_list
    assert [message.content for message in as_list[-2:]] == ids


def test_a_tool_that_failed_is_told_to_the_model() -> None:
    gateway = Gateway(weather_call("x"), TEXT)
    call = call_of(gateway.ask(body()))
    gateway.ask(body(*results(call, is_error=True)))
    assert gateway.asked[-1].messages[-1].is_error


def test_a_prompted_model_is_told_it_in_words() -> None:
    gateway = Gateway(weather_call("x"), TEXT)
    call = call_of(gateway.ask(body()))
    prompted = Gateway(TEXT, mode="prompted")
    prompted.ask(body(*results(call, is_error=True)))
    assert "Error: rain" in str(prompted.asked[-1].messages[-1].content)


WRONG_CALLS = {
    "unknown_tool_call": ("get_time", "{}"),
    "malformed_tool_arguments": ("get_weather", '{"city" "Paris" oops'),
    "invalid_tool_arguments": ("get_weather", '{"city": 7}'),
}


@BOTH
@pytest.mark.parametrize(("code", "call"), WRONG_CALLS.items())
def test_a_wrong_call_is_an_error_that_has_what_the_model_said(
    code: str, call: tuple[str, str], stream: bool
) -> None:
    gateway = Gateway(calling(("a", *call)))
    client = gateway.ask(body(stream=stream))
    assert client.status == 422
    assert len(gateway.asked) == 2, "the model was asked again first"
    error = client.json["error"]
    assert (error["type"], error["code"]) == ("model_error", code)
    (said,) = error["model_said"]["tool_calls"]
    assert (said["name"], said["arguments"], said["code"]) == (*call, code)


def test_a_wrong_call_behind_text_ends_a_stream_with_an_error_event() -> None:
    client = Gateway(calling(("a", "get_time", "{}"), text="Well.")).ask(body(stream=True))
    text, error = events(client)
    assert (text["type"], text["delta"]) == ("text.delta", "Well.")
    assert (error["type"], error["error"]["code"]) == ("error", "unknown_tool_call")
    assert error["error"]["model_said"]["content"] == "Well."


@BOTH
def test_a_call_that_fits_when_it_is_asked_for_again_is_delivered(stream: bool) -> None:
    wrong = calling(("a", *WRONG_CALLS["invalid_tool_arguments"]))
    client = Gateway(wrong, weather_call()).ask(body(stream=stream))
    answer = made(client)
    assert [call["function"]["arguments"] for call in answer["calls"]] == [{"city": "Paris"}]
    assert {"code": "repaired", "message": "asked_again:invalid_tool_arguments"} in answer[
        "warnings"
    ]


@BOTH
def test_a_call_that_was_cut_off_is_an_error_and_not_asked_for_again(stream: bool) -> None:
    cut = CallFragment(0, "a", "get_weather", '{"city": "Par')
    gateway = Gateway((Fragment(calls=(cut,), finish="length"),))
    client = gateway.ask(body(stream=stream))
    assert (client.status, client.json["error"]["code"]) == (422, "malformed_tool_arguments")
    assert "more tokens" in client.json["error"]["message"]
    assert len(gateway.asked) == 1


@BOTH
def test_a_call_without_any_tools_is_an_error(stream: bool) -> None:
    client = Gateway(weather_call()).ask(body(tools=[], stream=stream))
    assert (client.status, client.json["error"]["code"]) == (422, "unknown_tool_call")


@BOTH
def test_prose_where_a_call_is_required_is_an_error_with_the_prose(stream: bool) -> None:
    client = Gateway(TEXT).ask(body(tool_choice="required", stream=stream))
    assert (client.status, client.json["error"]["code"]) == (422, "tool_choice_unmet")
    assert client.json["error"]["model_said"]["content"] == "It rains."


@pytest.mark.parametrize(
    ("choice", "mode", "named"),
    [
        ("auto", "auto", False),
        ("none", "none", False),
        ("required", "required", False),
        ({"function": {"name": "get_weather"}}, "required", True),
        ({"type": "function", "function": {"name": "get_weather"}}, "required", True),
    ],
)
def test_a_tool_choice_is_a_word_or_a_function(choice: Any, mode: str, named: bool) -> None:
    gateway = Gateway(TEXT if mode == "none" else weather_call())
    assert gateway.ask(body(tool_choice=choice)).status == 200
    asked = gateway.asked[-1].request.choice
    assert (asked.mode, asked.named) == (mode, named)


def test_strict_is_ignored_with_a_warning() -> None:
    strict = {"type": "function", "function": {**WEATHER["function"], "strict": True}}  # type: ignore[dict-item]
    client = Gateway(weather_call()).ask(body(tools=[strict]))
    assert [warning["code"] for warning in client.json["warnings"]] == ["strict_ignored"]


def test_unknown_parameters_are_ignored_with_a_warning() -> None:
    gateway = Gateway(TEXT)
    gateway.backend.unsupported = frozenset({"frobnicate"})
    client = gateway.ask(body(frobnicate=1))
    (warning,) = client.json["warnings"]
    assert (warning["code"], warning["param"]) == ("parameter_ignored", "frobnicate")
    assert client.headers["toolwire-ignored-params"] == "frobnicate"


@BOTH
def test_an_error_of_the_backend_has_its_own_status(stream: bool) -> None:
    client = Gateway(UpstreamRefused("No.", status=400)).ask(body(stream=stream))
    assert (client.status, client.json["error"]["message"]) == (400, "No.")


def test_a_stream_that_breaks_off_ends_with_an_error_event_and_without_done() -> None:
    gateway = Gateway((Fragment(text="It"),))
    gateway.backend.done = False
    kinds = [event["type"] for event in events(gateway.ask(body(stream=True)))]
    assert kinds == ["text.delta", "error"]


def test_an_idempotency_key_without_a_conversation_is_warned_about() -> None:
    client = Gateway(TEXT).ask(body(), idempotency_key="k")
    assert [warning["code"] for warning in client.json["warnings"]] == ["idempotency_key_ignored"]


# Call ids that the client carries.


def carried(gateway: Gateway) -> tuple[list[Any], str]:
    """A history with a call and its result, and the map that came with it."""
    client = gateway.ask(body())
    return results(call_of(client)), client.headers["toolwire-call-map"]


def sent_ids(gateway: Gateway) -> list[str]:
    """The ids that the provider gave, as far as they are known."""
    return [call.provider_id for m in gateway.asked[-1].messages for call in m.calls]


def test_the_map_gives_the_provider_its_own_ids_back() -> None:
    gateway = Gateway(weather_call("provider-1"), TEXT)
    history, signed = carried(gateway)
    assert gateway.ask(body(*history), toolwire_call_map=signed).status == 200
    assert sent_ids(gateway) == ["provider-1"]


def test_without_the_map_ids_go_by_position() -> None:
    gateway = Gateway(weather_call("provider-1"), TEXT)
    history, _ = carried(gateway)
    assert gateway.ask(body(*history)).status == 200
    assert sent_ids(gateway) == ["call_1"]


def test_a_map_grows_with_the_conversation() -> None:
    gateway = Gateway(weather_call("p1"), weather_call("p2"), TEXT)
    history, signed = carried(gateway)
    client = gateway.ask(body(*history), toolwire_call_map=signed)
    history += results(call_of(client))[1:]
    signed = client.headers["toolwire-call-map"]
    assert gateway.ask(body(*history), toolwire_call_map=signed).status == 200
    assert sent_ids(gateway) == ["p1", "p2"]


def test_a_map_that_was_begun_late_does_not_refuse_earlier_calls() -> None:
    gateway = Gateway(weather_call("p1"), weather_call("p2"), TEXT)
    history, _ = carried(gateway)
    client = gateway.ask(body(*history))
    history += results(call_of(client))[1:]
    signed = client.headers["toolwire-call-map"]
    assert gateway.ask(body(*history), toolwire_call_map=signed).status == 200
    assert sent_ids(gateway) == ["call_1", "p2"]


def test_an_id_that_the_map_does_not_know_is_refused_before_anything_is_sent() -> None:
    gateway = Gateway(weather_call("p1"), TEXT)
    history, signed = carried(gateway)
    other = json.loads(json.dumps(history).replace("call_0", "call_f"))
    client = gateway.ask(body(*other), toolwire_call_map=signed)
    assert client.status == 400
    assert {p["code"] for p in client.json["error"]["problems"]} == {"unknown_tool_call_id"}
    assert len(gateway.asked) == 1


@pytest.mark.parametrize("change", ["key", "text"])
def test_a_map_of_another_key_or_a_changed_one_is_refused(change: str) -> None:
    gateway = Gateway(weather_call("p1"), TEXT)
    history, signed = carried(gateway)
    signed = signed if change == "key" else signed.replace(".", ".AA", 1)
    key = "other" if change == "key" else None
    client = gateway.ask(body(*history), key=key, toolwire_call_map=signed)
    assert (client.status, client.json["error"]["code"]) == (400, "invalid_call_map")


def test_a_result_without_its_call_is_refused() -> None:
    gateway = Gateway(TEXT)
    client = gateway.ask(body(tool_results=[{"tool_call_id": "call_1", "content": "x"}]))
    (problem,) = client.json["error"]["problems"]
    assert (problem["path"], problem["code"]) == (
        "tool_results[0].tool_call_id", "unknown_tool_call_id",
    )  # fmt: skip
    assert gateway.asked == []


def test_a_call_without_its_result_is_refused_at_its_place() -> None:
    gateway = Gateway(weather_call("p1"))
    history, _ = carried(gateway)
    client = gateway.ask(body(*history[:2], ASKED))
    assert client.status == 400
    assert client.json["error"]["param"] == "messages[2]"
    assert client.json["error"]["code"] == "invalid_history"
