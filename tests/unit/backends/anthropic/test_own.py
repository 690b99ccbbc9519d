"""Clients that speak the Messages API themselves, in front of a server that does, too."""

import json
from typing import Any

import pytest
from tests.contract.chatting import Backend
from tests.contract.messaging import HELLO, TOOL, asked, blocks, ending, message

from toolwire.backends.anthropic.answer import MessagesDecoder
from toolwire.backends.anthropic.own import WIRE
from toolwire.backends.anthropic.request import encode_request
from toolwire.backends.base import BackendRequest, Capabilities
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.openai.request import encode_body
from toolwire.errors import UpstreamRefused
from toolwire.gateway.plan import Plan, make_plan
from toolwire.protocol.requests import ChatMessage
from toolwire.surfaces.messages.adapting import without_refused
from toolwire.surfaces.messages.thinking import signature

STREAMED = pytest.mark.parametrize("stream", [False, True])
MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
LONG = "mcp__" + 80 * "x"
ASKED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 32000,
    "stream": True,
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1;"},
        {"type": "text", "text": "Be brief.", **MARK},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": t} for t in ("Look.", "Now.")]},
        {"role": "system", "content": "You are in /home."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "theirs"},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "tool_use", "id": "toolu_1", "name": LONG, "input": {"b": 1, "a": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny", **MARK},
                {"type": "text", "text": "Go on.", **MARK},
            ],
        },
    ],
    "tools": [
        {**TOOL, "name": LONG, "eager_input_streaming": True, **MARK},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        {**TOOL, "name": "later", "defer_loading": True},
    ],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 31999, "display": "omitted"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "output_config": {"effort": "max"},
    "metadata": {"user_id": "{\"device\": \"" + 80 * "d" + "\"}"},
    "service_tier": "auto",
    "container": "c1",
    "stop_sequences": ["a", "b", "c", "d", "e", "f"],
    "next_month": {"new": True},
}  # fmt: skip


def plan_of(**fields: Any) -> Plan:
    body = {name: value for name, value in {**ASKED, **fields}.items() if value is not ...}
    return make_plan(asked(**body).request, repair_history=True)


def sent(outgoing: BackendRequest) -> Any:
    return json.loads(b"".join(encode_request(outgoing, DIALECTS["anthropic"], "claude-x")))


def test_everything_that_a_client_sends_reaches_a_server_of_the_same_api() -> None:
    assert sent(plan_of().outgoing) == {**ASKED, "model": "claude-x"}


def test_a_form_under_its_earlier_name_is_sent_under_that_name_alone() -> None:
    form = {"type": "json_schema", "schema": {"type": "object"}}
    body = sent(plan_of(output_format=form, output_config=...).outgoing)
    assert (body["output_format"], "output_config" in body) == (form, False)


@pytest.mark.parametrize("dialect", sorted(DIALECTS.keys() - {"anthropic"}))
def test_nothing_of_the_api_reaches_another_server(dialect: str) -> None:
    body = b"".join(encode_body(plan_of().outgoing, DIALECTS[dialect], None)).decode()
    for word in ("cache_control", "theirs", "xyz", "next_month", "web_search_2025", "budget_tokens",
                 "context_management", "billing", "defer_loading", "disable_parallel"):  # fmt: skip
        assert word not in body


@pytest.mark.parametrize("name", ["fallbacks", "workspace_id", "inference_geo"])
def test_a_client_cannot_choose_another_model_or_account(name: str) -> None:
    plan = plan_of(**{name: [{"model": "dearer"}]})
    assert name not in sent(plan.outgoing)
    assert plan.request.ignored == (name,)


def test_thinking_of_another_model_and_empty_text_are_left_out() -> None:
    answer = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": signature("Hm.")},
            {"type": "thinking", "thinking": "Hm.", "signature": "theirs"},
            {"type": "text", "text": ""},
        ],
    }
    lone = {"role": "assistant", "content": [{"type": "text", "text": ""}]}
    body = sent(plan_of(messages=[*HELLO, answer, *HELLO, lone, *HELLO]).outgoing)
    left = {"role": "assistant", "content": [answer["content"][1]]}
    assert body["messages"] == [*HELLO, left, *HELLO, *HELLO]


def test_what_the_gateway_adds_follows_the_clients_own_messages() -> None:
    plan = plan_of().continued([ChatMessage("user", "That was wrong.")])
    *before, last = sent(plan.outgoing)["messages"]
    assert before == ASKED["messages"]
    assert last == {"role": "user", "content": [{"type": "text", "text": "That was wrong."}]}


def test_a_repaired_conversation_is_sent_in_the_form_that_the_api_takes() -> None:
    body = sent(plan_of(messages=[*ASKED["messages"][:3], *HELLO]).outgoing)
    assert body["messages"][-1]["content"][0]["type"] == "tool_result"
    assert "billing" not in json.dumps(body["system"])
    assert not {"thinking", "context_management"} & body.keys()  # the signatures are lost
    assert body["service_tier"] == "auto"


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ("adaptive thinking is not supported", {"thinking", "context_management", "output_config"}),
        ("max_tokens: 32000 > 8192", set[str]()),
    ],
)
def test_what_the_server_refuses_is_not_sent_again(words: str, gone: set[str]) -> None:
    changed = without_refused(plan_of().request, UpstreamRefused(words, status=400))
    assert changed is not None
    body = sent(make_plan(changed, repair_history=True).outgoing)
    assert ASKED.keys() - body.keys() == gone
    assert body["max_tokens"] == (32000 if gone else 8192)


CITATION = {
    "type": "web_search_result_location", "url": "http://x", "title": "X", "cited_text": "rain",
    "encrypted_index": "i",
}  # fmt: skip
USAGE = {
    "input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7,
    "output_tokens": 20, "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
}  # fmt: skip
CONTENT: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "", "signature": "hidden"},
    {"type": "thinking", "thinking": "Hm.", "signature": "theirs"},
    {"type": "redacted_thinking", "data": "xyz"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "It will "},
    {"type": "text", "text": "rain.", "citations": [CITATION]},
]
EDITS = {"applied_edits": []}


def whole(reason: str, stop: str | None = None) -> dict[str, Any]:
    about = {"id": "msg_9", "type": "message", "role": "assistant", "model": "claude-x"}
    end = {"stop_reason": reason, "stop_sequence": stop, "context_management": EDITS}
    return {**about, "content": CONTENT, **end, "usage": USAGE}


def events(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer as a stream."""
    made: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(answer["content"]):
        start, deltas = dict(block), []
        for field, kind in (("text", "text_delta"), ("thinking", "thinking_delta")):
            if field in block:
                start[field] = ""
                deltas += [{"type": kind, field: block[field]}] if block[field] else []
        if "signature" in block:
            start["signature"] = ""
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        if "input" in block:
            start["input"] = {}
            text = json.dumps(block["input"])
            deltas += [
                {"type": "input_json_delta", "partial_json": t} for t in (text[:4], text[4:])
            ]
        for citation in start.pop("citations", ()):
            deltas.append({"type": "citations_delta", "citation": citation})
        made.append({"type": "content_block_start", "index": index, "content_block": start})
        made += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        made.append({"type": "content_block_stop", "index": index})
    delta = {name: answer[name] for name in ("stop_reason", "stop_sequence")}
    end = {"type": "message_delta", "delta": delta, "usage": USAGE, "context_management": EDITS}
    return [*made, end, {"type": "message_stop"}]


def claude(answer: dict[str, Any], *, stream: bool, own: bool = True) -> Backend:
    """A server that gives this answer."""
    decoder = MessagesDecoder(max_line=100_000, own=own)
    data = json.dumps(answer).encode()
    if stream:
        pieces = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events(answer)]
        data = "".join(pieces).encode()
    fragments = [*decoder.feed(data), *decoder.finish()]
    return Backend([fragments], capabilities=Capabilities(wire=WIRE if own else ""))


@STREAMED
def test_every_block_of_the_answer_comes_through_as_it_was(stream: bool) -> None:
    answer = message(claude(whole("end_turn"), stream=stream), **{**ASKED, "stream": stream})
    assert blocks(answer) == CONTENT
    assert "toolwire-ignored-params" not in answer.headers
    assert "toolwire-repairs" not in answer.headers


@STREAMED
@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", None),
        ("pause_turn", None),
        ("stop_sequence", "a"),
        ("model_context_window_exceeded", None),
    ],
)
def test_so_do_its_end_and_its_usage(stream: bool, reason: str, stop: str | None) -> None:
    backend = claude(whole(reason, stop), stream=stream)
    answer = message(backend, **{**ASKED, "stream": stream})
    end = ending(answer)
    assert (end["stop_reason"], end["stop_sequence"], end["usage"]) == (reason, stop, USAGE)
    assert b'"context_management":{"applied_edits":[]}' in answer.written


@STREAMED
def test_a_tool_with_a_long_name_is_called_by_that_name(stream: bool) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": LONG, "input": {"city": "Oslo"}}
    backend = claude({**whole("tool_use"), "content": [use]}, stream=stream)
    answer = message(backend, **{**ASKED, "stream": stream})
    assert [(block["name"], block["input"]) for block in blocks(answer)] == [
        (LONG, {"city": "Oslo"})
    ]
    assert "toolwire-findings" not in answer.headers


@STREAMED
def test_a_client_of_another_api_gets_none_of_it(stream: bool) -> None:
    backend = claude(whole("end_turn"), stream=stream, own=False)
    assert not any(fragment.extras for block in backend.blocks for fragment in block)
