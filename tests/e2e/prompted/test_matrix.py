"""Every format, streamed or whole, whatever tool_choice: a client sees what native gives it."""

from typing import Any

import pytest
from tests.e2e.gateway.contract import Outcome, check_arguments, read
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.scenes import CALLS, SCRIPTS, TEXT, TOOLS, values
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.e2e.prompted.models import ALL, INDEPENDENT, leaky, raw
from tests.e2e.prompted.routes import NATIVE, route
from tests.scripted import ScriptedServer
from tests.scripted.raw_formats import RAW_FORMATS

NAMED = {"type": "function", "function": {"name": "get_weather"}}
CHOICES: dict[str, Any] = {"auto": "auto", "none": "none", "required": "required", "named": NAMED}
CELLS = [
    (stream, choice, parallel)
    for stream in (True, False)
    for choice in CHOICES
    for parallel in (True, False)
]


def post(gateway: Gateway, model: str, *, stream: bool, **fields: Any) -> Reply:
    options: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream else {}
    body = chat_body(model=model, tools=TOOLS, stream=stream, **options, **fields)
    return ask(gateway.port, body)


def answer(gateway: Gateway, model: str, *, stream: bool, **fields: Any) -> Outcome:
    """Ask once; the strict reader checks every chunk of the answer."""
    outcome = read(post(gateway, model, stream=stream, **fields), include_usage=stream)
    assert outcome.error is None, outcome.error
    check_arguments(outcome)
    return outcome


def same(outcome: Outcome, native: Outcome) -> bool:
    """Whether two answers say the same; the line end in front of a call is the format's own."""
    mine = (outcome.content.rstrip("\n"), outcome.reasoning, values(outcome), outcome.finish)
    return mine == (native.content, native.reasoning, values(native), native.finish)


@pytest.mark.parametrize("name", ALL)
def test_a_client_cannot_tell_a_prompted_model_from_a_native_one(
    gateway: Gateway, backend: ScriptedServer, name: str
) -> None:
    for stream, choice, parallel in CELLS:
        fields = {"tool_choice": CHOICES[choice], "parallel_tool_calls": parallel}
        backend.use("std", CALLS)
        native = answer(gateway, route(*NATIVE), stream=stream, **fields)
        backend.use("std", raw(name, CALLS))
        outcome = answer(gateway, route("prompted", name), stream=stream, **fields)
        if choice == "none":
            assert (outcome.calls, outcome.finish) == ([], "stop")
        else:
            assert same(outcome, native), (stream, choice, parallel, outcome)
            assert len(outcome.calls) == (3 if parallel and choice != "named" else 1)
        (asked,) = backend.requests
        assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(asked.json)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("script", SCRIPTS)
def test_text_beside_calls_and_text_alone_come_out_as_from_a_native_model(
    gateway: Gateway, backend: ScriptedServer, name: str, script: str
) -> None:
    for stream in (True, False):
        backend.use("std", SCRIPTS[script])
        native = answer(gateway, route(*NATIVE), stream=stream)
        backend.use("std", raw(name, SCRIPTS[script]))
        assert same(answer(gateway, route("prompted", name), stream=stream), native)
        backend.use("std", leaky(name, SCRIPTS[script]))
        assert same(answer(gateway, route("hybrid", name), stream=stream), native)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_a_watched_model_keeps_to_tool_choice_as_a_native_one_does(
    gateway: Gateway, backend: ScriptedServer, name: str
) -> None:
    for stream, choice, parallel in CELLS:
        fields = {"tool_choice": CHOICES[choice], "parallel_tool_calls": parallel}
        backend.use("std", CALLS)
        native = answer(gateway, route(*NATIVE), stream=stream, **fields)
        backend.use("std", leaky(name, CALLS))
        outcome = answer(gateway, route("hybrid", name), stream=stream, **fields)
        if choice == "none":
            assert (outcome.calls, outcome.finish) == ([], "stop")
        else:
            assert same(outcome, native), (stream, choice, parallel, outcome)
        assert backend.requests[-1].json["tools"]


@pytest.mark.parametrize("name", INDEPENDENT)
def test_slips_of_the_pen_do_not_change_what_is_called(
    gateway: Gateway, backend: ScriptedServer, name: str
) -> None:
    backend.use("std", CALLS)
    native = answer(gateway, route(*NATIVE), stream=True)
    known = RAW_FORMATS[name].slips
    for slips in [("prose",), ("prefix",), ("prose", "prefix"), *((slip,) for slip in known)]:
        for stream in (True, False):
            backend.use("std", raw(name, CALLS, *slips))
            outcome = answer(gateway, route("prompted", name), stream=stream)
            assert values(outcome) == values(native), slips
            assert outcome.finish == "tool_calls"
            assert bool(outcome.content) == ("prose" in slips)


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_cut_into_single_characters_is_the_same_call(
    gateway: Gateway, backend: ScriptedServer, stream: bool
) -> None:
    for name in ALL:
        backend.use("letters", raw(name, CALLS))
        cut = answer(gateway, route("prompted", name), stream=stream)
        backend.use("std", raw(name, CALLS))
        assert cut.said == answer(gateway, route("prompted", name), stream=stream).said


def test_the_headers_say_which_way_a_turn_went(gateway: Gateway, backend: ScriptedServer) -> None:
    for name in INDEPENDENT:
        for mode, script in (("prompted", raw(name, CALLS)), ("hybrid", leaky(name, CALLS))):
            backend.use("std", script)
            reply = post(gateway, route(mode, name), stream=False)
            assert reply.headers["toolwire-mode"] == f"{mode}:{name}"
            promoted = "call_promoted_from_text" in reply.headers.get("toolwire-repairs", "")
            assert promoted == (mode == "hybrid")
    backend.use("std", TEXT)
    assert post(gateway, route(*NATIVE), stream=True).headers["toolwire-mode"] == "native"


def test_calls_that_were_left_out_are_named(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", raw("hermes", CALLS))
    model = route("prompted", "hermes")
    one = post(gateway, model, stream=False, parallel_tool_calls=False)
    assert one.headers["toolwire-repairs"] == "call_dropped:parallel_tool_calls_false"
    named = post(gateway, model, stream=False, tool_choice=NAMED)
    assert named.headers["toolwire-repairs"] == "call_dropped:tool_not_allowed"
