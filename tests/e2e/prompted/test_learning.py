"""`auto` finds out what a backend can do, once, and says so; a demanded call is got or refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.gateway.contract import Outcome, read
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import TOOLS, values
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.e2e.prompted.models import ALL, raw
from tests.e2e.prompted.routes import Place, config, route
from tests.scripted import ScriptedServer

from toolwire.server.access.auth import hash_key

CONSTRAINING = ("openai", "vllm", "llamacpp")
PLACES: tuple[Place, ...] = (
    *(("auto", name, "generic") for name in ALL),
    ("hybrid", "hermes", "generic"),
    ("prompted", "hermes", "generic"),
    *(("prompted", name, dialect) for name in ("mistral", "hermes") for dialect in CONSTRAINING),
    *(("prompted", name, "openai") for name in ALL),
)
CALL: list[Any] = [{"calls": [["get_weather", {"city": "Paris", "days": 3}]]}]
MEANT = [("get_weather", {"city": "Paris", "days": 3})]
NAMED = {"type": "function", "function": {"name": "get_weather"}}
STREAMED = pytest.mark.parametrize("stream", [True, False])
_unused = iter(ALL)


@pytest.fixture
def fresh() -> str:
    """A format whose routes no test has used: nothing was learned about them."""
    return next(_unused)


def post(gateway: Gateway, model: str, *, stream: bool = False, **fields: Any) -> Reply:
    options: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream else {}
    body = chat_body(model=model, tools=TOOLS, stream=stream, **options, **fields)
    return ask(gateway.port, body)


def outcome_of(reply: Reply, *, stream: bool = False) -> Outcome:
    outcome = read(reply, include_usage=stream)
    assert outcome.error is None, outcome.error
    return outcome


def repairs_of(reply: Reply) -> list[str]:
    """What was mended: in the header, or in the last chunk if the stream had begun."""
    if not reply.headers["content-type"].startswith("text/event-stream"):
        return reply.headers.get("toolwire-repairs", "").split(", ")
    chunks = [json.loads(line[6:]) for line in reply.body.decode().split("\n\n")[:-2]]
    return [name for chunk in chunks for name in chunk.get("toolwire", {}).get("repairs", ())]


def had_tools(backend: ScriptedServer) -> list[bool]:
    """Of each request that reached the backend, whether it had tools."""
    return ["tools" in asked.json for asked in backend.requests]


@STREAMED
def test_a_backend_that_refuses_tools_is_prompted_at_once_and_from_then_on(
    gateway: Gateway, backend: ScriptedServer, fresh: str, stream: bool
) -> None:
    backend.use("refuses_tools", raw(fresh, CALL))
    first = post(gateway, route("auto", fresh), stream=stream)
    assert values(outcome_of(first, stream=stream)) == MEANT
    assert first.headers["toolwire-mode"] == f"prompted:{fresh}"
    second = post(gateway, route("auto", fresh), stream=stream)
    assert values(outcome_of(second, stream=stream)) == MEANT
    assert had_tools(backend) == [True, False, False]


def test_what_was_learned_is_shown_with_the_model(
    gateway: Gateway, backend: ScriptedServer, fresh: str
) -> None:
    backend.use("refuses_tools", raw(fresh, CALL))
    shown = f"/v1/models/{route('auto', fresh)}"
    assert "without tools" not in ask(gateway.port, path=shown).body.decode()
    post(gateway, route("auto", fresh))
    assert "without tools" in ask(gateway.port, path=shown).body.decode()


@STREAMED
def test_a_backend_that_ignores_tools_is_found_out_when_a_call_is_demanded(
    gateway: Gateway, backend: ScriptedServer, fresh: str, stream: bool
) -> None:
    backend.use("ignores_tools", raw(fresh, "file_task"))
    reply = post(gateway, route("auto", fresh), stream=stream, tool_choice=NAMED)
    ((name, _),) = outcome_of(reply, stream=stream).calls
    assert name == "get_weather"
    assert repairs_of(reply) == ["asked_again:tool_choice"]
    assert reply.headers["toolwire-mode"] == f"prompted:{fresh}"
    assert had_tools(backend) == [True, False]


def test_one_such_turn_without_a_key_changes_nothing_for_the_next_request_and_two_do(
    gateway: Gateway, backend: ScriptedServer, fresh: str
) -> None:
    backend.use("ignores_tools", raw(fresh, "file_task"))
    for after in ("hybrid", "prompted"):
        demanded = post(gateway, route("auto", fresh), tool_choice=NAMED)
        assert demanded.headers["toolwire-mode"] == f"prompted:{fresh}"
        assert post(gateway, route("auto", fresh)).headers["toolwire-mode"] == f"{after}:{fresh}"
    assert had_tools(backend) == [True, False, True, True, False, False]


@STREAMED
def test_prose_says_nothing_about_a_backend_that_has_called_natively(
    gateway: Gateway, backend: ScriptedServer, fresh: str, stream: bool
) -> None:
    model = route("auto", fresh)
    for choice, turns in (("auto", [ACT]), ("required", [TALK, ACT]), ("auto", [ACT])):
        backend.use("std", {"turns": turns})
        reply = post(gateway, model, stream=stream, tool_choice=choice)
        assert values(outcome_of(reply, stream=stream)) == MEANT
        assert reply.headers["toolwire-mode"] == f"hybrid:{fresh}"
        assert had_tools(backend) == [True] * len(turns)


KEYS = {name: f"tw-{name * 40}" for name in "abc"}


def test_what_one_key_sees_changes_nothing_for_the_others_until_another_sees_it_too(
    backend: ScriptedServer,
) -> None:
    keys = [f'[[keys]]\nname = "{n}"\nsha256 = "{hash_key(key)}"\n' for n, key in KEYS.items()]
    backend.use("ignores_tools", raw("hermes", "file_task"))
    with running(config="".join(keys) + config(backend.url, [("auto", "hermes", "generic")])) as tw:

        def mode(key: str, **fields: Any) -> str:
            body = chat_body(model=route("auto", "hermes"), tools=TOOLS, **fields)
            headers = {"authorization": f"Bearer {KEYS[key]}"}
            return ask(tw.port, body, headers=headers).headers["toolwire-mode"].partition(":")[0]

        assert mode("a", tool_choice=NAMED) == "prompted"
        assert [mode(key) for key in "abc"] == ["prompted", "hybrid", "hybrid"]
        assert mode("b", tool_choice=NAMED) == "prompted"
        assert [mode(key) for key in "abc"] == ["prompted"] * 3


def test_prose_that_nobody_forbade_teaches_nothing(
    gateway: Gateway, backend: ScriptedServer, fresh: str
) -> None:
    backend.use("ignores_tools", ["I would rather talk."])
    for _ in range(2):
        reply = post(gateway, route("auto", fresh))
        assert outcome_of(reply).content == "I would rather talk."
        assert reply.headers["toolwire-mode"] == f"hybrid:{fresh}"
    assert had_tools(backend) == [True, True]


@STREAMED
def test_a_server_that_calls_another_tool_has_tools_and_is_asked_again_with_the_right_one_only(
    gateway: Gateway, backend: ScriptedServer, fresh: str, stream: bool
) -> None:
    backend.use("std", {"turns": [{"text": "Hm.", "calls": [["now", {}]]}, ACT]})
    reply = post(gateway, route("auto", fresh), stream=stream, tool_choice=NAMED)
    assert values(outcome_of(reply, stream=stream)) == MEANT
    assert repairs_of(reply) == ["asked_again:tool_choice"]
    assert reply.headers["toolwire-mode"] == f"hybrid:{fresh}"
    offered = [tool["function"]["name"] for tool in backend.requests[-1].json["tools"]]
    assert offered == ["get_weather"]
    post(gateway, route("auto", fresh), stream=stream)
    assert had_tools(backend) == [True, True, True]


@pytest.mark.parametrize("variant", ["ctxlen", "err400", "err404", "err_detail"])
def test_another_refusal_teaches_nothing(
    gateway: Gateway, backend: ScriptedServer, fresh: str, variant: str
) -> None:
    backend.use(variant, CALL)
    assert read(post(gateway, route("auto", fresh))).error
    assert had_tools(backend) == [True]
    backend.use("std", CALL)
    post(gateway, route("auto", fresh))
    assert had_tools(backend) == [True]


def test_a_watched_route_is_never_prompted(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("refuses_tools", raw("hermes", CALL))
    error = read(post(gateway, route("hybrid", "hermes"))).error
    assert error is not None
    assert "does not support tools" in error["message"]
    assert had_tools(backend) == [True]


# A call that is demanded.


TALK = {"text": "I would rather talk about it.", "usage": [100, 20]}
ACT = {"calls": CALL[0]["calls"], "usage": [130, 30]}


@STREAMED
@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_model_that_talks_is_asked_again_and_the_client_sees_only_the_call(
    gateway: Gateway, backend: ScriptedServer, stream: bool, choice: Any
) -> None:
    backend.use("std", {"raw": "hermes", "turns": [TALK, ACT]})
    model = route("prompted", "hermes")
    reply = post(gateway, model, stream=stream, tool_choice=choice)
    outcome = outcome_of(reply, stream=stream)
    assert (values(outcome), outcome.content) == (MEANT, "")
    assert outcome.usage is not None
    assert (outcome.usage["prompt_tokens"], outcome.usage["completion_tokens"]) == (230, 50)
    assert repairs_of(reply) == ["asked_again:tool_choice"]
    again = backend.requests[-1].json["messages"]
    assert [message["role"] for message in again] == ["system", "user", "assistant", "user"]
    assert again[2]["content"] == TALK["text"]
    assert "must call" in again[3]["content"]


@STREAMED
def test_prose_that_is_cut_off_is_asked_again_and_delivered_only_if_it_stays_so(
    gateway: Gateway, backend: ScriptedServer, stream: bool
) -> None:
    cut = {"text": "Well, let me think. " * 50, "finish": "length"}
    model = route("prompted", "hermes")
    backend.use("std", {"raw": "hermes", "turns": [cut, ACT]})
    reply = post(gateway, model, stream=stream, tool_choice="required")
    outcome = outcome_of(reply, stream=stream)
    assert (values(outcome), outcome.content) == (MEANT, "")
    assert repairs_of(reply) == ["asked_again:tool_choice"]
    assert backend.requests[-1].json["messages"][2]["content"] == cut["text"][:400]
    backend.use("std", {"raw": "hermes", "turns": [cut]})
    outcome = outcome_of(post(gateway, model, stream=stream, tool_choice="required"), stream=stream)
    assert (outcome.content, outcome.finish, outcome.calls) == (cut["text"], "length", [])
    assert len(backend.requests) == 2


@STREAMED
@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_model_that_will_not_call_is_a_clear_error_and_nothing_else(
    gateway: Gateway, backend: ScriptedServer, stream: bool, choice: Any
) -> None:
    backend.use("std", {"raw": "hermes", "turns": [TALK]})
    reply = post(gateway, route("prompted", "hermes"), stream=stream, tool_choice=choice)
    outcome = read(reply, include_usage=stream)
    assert (outcome.status, outcome.content, outcome.calls) == (502, "", [])
    assert outcome.error is not None
    assert (outcome.error["code"], outcome.error["param"]) == ("tool_choice_unmet", "tool_choice")
    assert len(backend.requests) == 2


@STREAMED
def test_a_call_of_another_tool_than_the_one_demanded_does_not_count(
    gateway: Gateway, backend: ScriptedServer, stream: bool
) -> None:
    backend.use("std", {"raw": "hermes", "turns": [{"text": "Hm.", "calls": [["now", {}]]}, ACT]})
    reply = post(gateway, route("prompted", "hermes"), stream=stream, tool_choice=NAMED)
    assert values(outcome_of(reply, stream=stream)) == MEANT
    assert repairs_of(reply) == ["asked_again:tool_choice"]


@pytest.fixture(scope="module")
def patient(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that never asks again."""
    places = [("prompted", "hermes", "generic")]
    with running(config="[repair]\nask_again = 0\n" + config(backend.url, places)) as process:
        yield process


def test_asking_again_can_be_turned_off(patient: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", {"raw": "hermes", "turns": [TALK, ACT]})
    reply = post(patient, route("prompted", "hermes"), tool_choice="required")
    assert reply.status == 502
    assert len(backend.requests) == 1


# A server that can be told what the model may write.


def schemas(backend: ScriptedServer) -> list[Any]:
    """The schema of each request that reached the backend, if it had one."""
    found = []
    for asked in backend.requests:
        if asked.method == "GET":
            continue  # what of its model the server knows
        wanted = asked.json.get("response_format", {}).get("json_schema", {}).get("schema")
        found.append(wanted or asked.json.get("structured_outputs", {}).get("json"))
    return found


@STREAMED
@pytest.mark.parametrize("dialect", CONSTRAINING)
@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_demanded_call_is_constrained_and_read_from_the_bare_json(
    gateway: Gateway, backend: ScriptedServer, dialect: str, stream: bool, choice: Any
) -> None:
    backend.use("obeys_schema", "echo")
    model = route("prompted", "hermes", dialect)
    reply = post(gateway, model, stream=stream, tool_choice=choice)
    outcome = outcome_of(reply, stream=stream)
    assert [name for name, _ in outcome.calls] == [
        "get_weather" if choice == NAMED else TOOLS[0]["function"]["name"]
    ]
    assert (outcome.content, outcome.finish) == ("", "tool_calls")
    (schema,) = schemas(backend)
    assert (json.dumps(schema).count('"const"')) == (1 if choice == NAMED else len(TOOLS))


def test_an_older_server_is_told_the_schema_in_the_form_that_is_configured(
    backend: ScriptedServer,
) -> None:
    backend.use("obeys_schema", "echo")
    how = f'mode = "prompted"\nbackend = {{ url = "{backend.url}", dialect = "vllm", '
    how += 'constraint = "guided_json" }'
    with running(config=f'[[models]]\nname = "old"\n{how}\n') as gateway:
        assert outcome_of(post(gateway, "old", tool_choice="required")).calls
    (asked,) = backend.requests
    assert asked.json["guided_json"]["required"] == ["tool_calls"]
    assert not {"structured_outputs", "response_format"} & asked.json.keys()


def test_nothing_is_constrained_when_no_call_is_demanded(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("obeys_schema", raw("hermes", CALL))
    reply = post(gateway, route("prompted", "hermes", "openai"))
    assert values(outcome_of(reply)) == MEANT
    assert schemas(backend) == [None]


def test_a_single_call_is_part_of_the_constraint(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("obeys_schema", "echo")
    model = route("prompted", "hermes", "openai")
    post(gateway, model, tool_choice="required", parallel_tool_calls=False)
    (schema,) = schemas(backend)
    assert schema["properties"]["tool_calls"]["maxItems"] == 1


def test_a_constraint_of_ours_takes_the_place_of_the_clients(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("obeys_schema", "echo")
    wanted = {"type": "json_object"}
    model = route("prompted", "hermes", "openai")
    reply = post(gateway, model, tool_choice="required", response_format=wanted)
    assert outcome_of(reply).calls
    assert backend.requests[-1].body.count(b'"response_format"') == 1


@STREAMED
def test_a_server_that_refuses_schemas_is_asked_without_one_and_from_then_on(
    gateway: Gateway, backend: ScriptedServer, fresh: str, stream: bool
) -> None:
    backend.use("refuses_schema", raw(fresh, CALL))
    model = route("prompted", fresh, "openai")
    for _ in range(2):
        reply = post(gateway, model, stream=stream, tool_choice="required")
        assert values(outcome_of(reply, stream=stream)) == MEANT
        assert reply.headers["toolwire-mode"] == f"prompted:{fresh}"
    assert [schema is not None for schema in schemas(backend)] == [True, False, False]


def test_a_server_that_ignores_the_schema_is_asked_again_in_the_models_own_format(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", raw("mistral", CALL))
    reply = post(gateway, route("prompted", "mistral", "openai"), tool_choice="required")
    assert values(outcome_of(reply)) == MEANT
    assert reply.headers["toolwire-mode"] == "prompted:mistral"
    assert [schema is not None for schema in schemas(backend)] == [True, False]


@pytest.mark.parametrize("dialect", CONSTRAINING)
def test_a_constrained_call_that_is_cut_off_leaves_nothing_of_its_json_in_the_answer(
    gateway: Gateway, backend: ScriptedServer, dialect: str
) -> None:
    call = json.dumps({"name": MEANT[0][0], "arguments": MEANT[0][1]})
    model = route("prompted", "hermes", dialect)
    for rest, calls in ((", ", 1), (', {"name": "get_wea', 1), (f", {call[:-9]}", 2)):
        backend.use("std", [{"text": f'{{"tool_calls": [{call}{rest}', "finish": "length"}])
        live, whole = (
            outcome_of(post(gateway, model, stream=stream, tool_choice="required"), stream=stream)
            for stream in (True, False)
        )
        assert live.said == whole.said
        assert (whole.content, whole.finish, len(whole.calls)) == ("", "length", calls)
