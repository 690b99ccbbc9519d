"""Which strategy a turn is made with, and what a backend's refusal teaches about the next."""

from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.asking import asking
from tests.contract.wire import USER, asked, body, call, read, result, tool

from toolwire.backends.base import UNKNOWN, Capabilities
from toolwire.errors import (
    InvalidToolArguments,
    KeyRefused,
    ToolChoiceUnmet,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from toolwire.gateway.observer import Lesson, Unobserved
from toolwire.gateway.plan import Plan
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.native import NATIVE, Hybrid
from toolwire.gateway.strategies.prompted import Constrained, Prompted
from toolwire.gateway.strategies.selection import NATIVE_REMEMBERED, REMEMBERED, StrategySelector
from toolwire.protocol.requests import Request


@dataclass
class FakeBackend:
    """As much of a backend as a choice needs."""

    name: str = "b"
    capabilities: Capabilities = UNKNOWN


HERE: Any = FakeBackend()
THERE: Any = FakeBackend("other")
OF_ITS_OWN: Any = FakeBackend(capabilities=Capabilities(own_calls=True))
CONSTRAINING: Any = FakeBackend(capabilities=Capabilities(constrains=True))
HYBRID, PROMPTED, CONSTRAINED = Hybrid(format="hermes"), Prompted(format="hermes"), Constrained()


def asked_for(model: str = "m", *, demanded: bool = False, optional: Request | None = None) -> Plan:
    """A turn in which a call is demanded, or may be made in this request."""
    fields: dict[str, Any] = {"tools": [tool()]}
    if demanded:
        fields["tool_choice"] = "required"
    plan = read(body(model=model, **fields))
    if optional is None:
        return plan
    request = structs.replace(plan.request, response_format=optional.response_format)
    return structs.replace(plan, request=request)


def selector(mode: Any, name: str | None = "hermes") -> StrategySelector:
    return StrategySelector(mode, name)


@pytest.mark.parametrize(
    ("mode", "strategy"),
    [("native", NATIVE), ("hybrid", HYBRID), ("prompted", PROMPTED), ("auto", HYBRID)],
)
def test_a_mode_says_how_a_turn_begins(mode: str, strategy: ToolStrategy) -> None:
    assert selector(mode).choose(HERE, asked_for("m")) == strategy


def test_a_format_is_configured_or_found_by_the_models_name() -> None:
    assert selector("prompted", "mistral").choose(HERE, asked_for("Qwen3-8B")).format == "mistral"
    found = selector("prompted", None).choose(HERE, asked_for("Qwen3-Coder-30B"))
    assert found.format == "qwen3_coder"
    assert selector("prompted", None).choose(HERE, asked_for("no-such-model")).format == "hermes"


def format_of(model: str, **facts: Any) -> str:
    backend: Any = FakeBackend(capabilities=Capabilities(**facts))
    return str(selector("auto", None).choose(backend, asked_for(model)).format)


def test_what_the_backend_knows_of_its_model_says_more_than_the_name_that_is_asked_for() -> None:
    assert format_of("gpt-4o", name="Qwen3-Coder-30B") == "qwen3_coder"
    assert format_of("gpt-4o", name="Qwen3-Coder-30B", template="[TOOL_CALLS]{{ c }}[ARGS]") == (
        "mistral"
    )
    assert format_of("Qwen3-Coder-30B", name="unheard-of", template="{{ messages }}") == (
        "qwen3_coder"
    )


def test_a_format_is_shown_with_its_reason() -> None:
    assert selector("auto", "mistral").format_of("m").reason == "it is configured"
    assert "'qwen3-coder'" in selector("auto", None).format_of("Qwen3-Coder-30B").reason
    assert "nothing tells" in selector("auto", None).format_of("m").reason


def test_tools_are_not_offered_where_there_is_no_use_in_it() -> None:
    backend: Any = FakeBackend(capabilities=Capabilities(has_tools=False))
    assert selector("auto").choose(backend, asked_for("m")) == PROMPTED
    assert selector("hybrid").choose(backend, asked_for("m")) == HYBRID


@pytest.mark.parametrize("mode", ["native", "hybrid", "prompted", "auto"])
def test_marks_of_a_prompt_are_known_on_every_way(mode: str) -> None:
    backend: Any = FakeBackend(capabilities=Capabilities(marks=("<end>",)))
    assert selector(mode).choose(backend, asked_for("m")).marks == ("<end>",)


def test_a_demanded_call_is_constrained_where_the_backend_can() -> None:
    prompted = selector("prompted")
    assert prompted.choose(CONSTRAINING, asked_for("m", demanded=True)) == CONSTRAINED
    assert prompted.choose(CONSTRAINING, asked_for("m")) == PROMPTED
    assert prompted.choose(HERE, asked_for("m", demanded=True)) == PROMPTED
    assert selector("hybrid").choose(CONSTRAINING, asked_for("m", demanded=True)) == HYBRID


def test_auto_remembers_a_backend_without_tools_by_backend_and_model() -> None:
    auto = selector("auto")
    assert auto.learn(HERE, "m", "tools")
    assert auto.choose(HERE, asked_for("m")) == PROMPTED
    assert auto.choose(HERE, asked_for("n")) == HYBRID
    assert auto.choose(THERE, asked_for("m")) == HYBRID
    assert auto.known("m") == {"b": "without tools"}


def test_what_is_learned_twice_is_no_news() -> None:
    auto = selector("auto")
    assert auto.learn(HERE, "m", "tools")
    assert not auto.learn(HERE, "m", "tools")


def asked_by(key: str) -> Plan:
    return structs.replace(asked_for("m"), asker=key)


def test_what_one_key_sees_does_not_change_what_the_others_get() -> None:
    auto = selector("auto")
    assert auto.learn(HERE, "m", "tools", asker="a")
    assert auto.choose(HERE, asked_by("a")) == PROMPTED
    assert auto.choose(HERE, asked_by("b")) == HYBRID
    assert (auto.known("m", "a"), auto.known("m", "b")) == ({"b": "without tools"}, {})
    assert auto.learn(HERE, "m", "tools", asker="b")
    assert auto.choose(HERE, asked_by("c")) == PROMPTED


def test_a_backend_that_has_called_is_not_taken_for_one_without_tools_after_prose() -> None:
    now = 0.0
    auto = StrategySelector("auto", "hermes", clock=lambda: now)
    auto.called(HERE, "m")
    now = 3 * REMEMBERED
    for key in ("a", "b", "c", "a", "a"):
        assert not auto.learn(HERE, "m", "tools", asker=key, prose=True)
    assert auto.choose(HERE, asked_by("a")) == HYBRID
    assert auto.learn(THERE, "m", "tools", prose=True)
    now = NATIVE_REMEMBERED
    assert auto.learn(HERE, "m", "tools", prose=True)


def test_one_answer_in_prose_without_a_key_changes_nothing_for_the_next_request() -> None:
    auto = selector("auto")
    assert auto.learn(HERE, "m", "tools", prose=True)
    this_turn = asked_for("m").without("b", "tools")
    assert auto.choose(HERE, this_turn) == PROMPTED
    assert auto.choose(THERE, this_turn) == HYBRID
    assert auto.choose(HERE, asked_for("m")) == HYBRID
    assert (auto.known("m"), auto.mode_of(HERE, "m")[0]) == ({}, "hybrid")


def test_two_answers_in_prose_without_a_key_count_for_everybody_without_one() -> None:
    auto = selector("auto")
    assert [auto.learn(HERE, "m", "tools", prose=True) for _ in range(3)] == [True, True, False]
    assert auto.choose(HERE, asked_for("m")) == PROMPTED
    assert auto.choose(HERE, asked_by("a")) == HYBRID
    assert (auto.known("m"), auto.mode_of(HERE, "m")[0]) == ({"b": "without tools"}, "prompted")


def test_one_answer_in_prose_counts_at_once_for_the_key_that_saw_it() -> None:
    auto = selector("auto")
    assert auto.learn(HERE, "m", "tools", asker="a", prose=True)
    assert auto.choose(HERE, asked_by("a")) == PROMPTED
    assert auto.choose(HERE, asked_by("b")) == HYBRID


def test_a_native_call_refutes_what_prose_has_shown() -> None:
    now = 0.0
    auto = StrategySelector("auto", "hermes", clock=lambda: now)
    for key in ("", "", "a"):
        auto.learn(HERE, "m", "tools", asker=key, prose=True)
    assert auto.choose(HERE, asked_by("a")) == PROMPTED
    auto.called(HERE, "m")
    assert auto.choose(HERE, asked_by("a")) == HYBRID
    assert auto.choose(HERE, asked_for("m")) == HYBRID
    assert not auto.learn(HERE, "m", "tools", prose=True)


def test_only_a_lesson_that_outlasts_its_turn_is_reported() -> None:
    class Heard(Unobserved):
        lessons: tuple[str, ...] = ()

        def learned(self, backend: str, model: str, lesson: Lesson, found: str = "") -> None:
            self.lessons = (*self.lessons, lesson)

    heard = Heard()
    auto = StrategySelector("auto", "hermes", observer=heard)
    auto.learn(HERE, "m", "tools", prose=True)
    assert heard.lessons == ()
    auto.learn(HERE, "m", "tools", prose=True)
    assert heard.lessons == ("tools",)


def test_a_backend_that_has_called_and_then_says_that_it_has_no_tools_is_believed() -> None:
    auto = selector("auto")
    auto.called(HERE, "m")
    assert auto.learn(HERE, "m", "tools")
    assert auto.choose(HERE, asked_for("m")) == PROMPTED


def test_text_is_searched_where_the_api_has_calls_of_its_own_if_the_model_writes_them() -> None:
    auto = StrategySelector("auto")
    assert str(auto.choose(OF_ITS_OWN, asked_for("Qwen/Qwen3-8B"))) == "hybrid:hermes"
    assert auto.mode_of(OF_ITS_OWN, "Qwen/Qwen3-8B")[0] == "hybrid"
    assert auto.choose(OF_ITS_OWN, asked_for("claude-sonnet-4-5")) == NATIVE


def test_text_is_not_searched_for_calls_where_the_api_has_calls_of_its_own() -> None:
    auto = StrategySelector("auto")
    assert auto.choose(OF_ITS_OWN, asked_for("m")) == NATIVE
    assert auto.mode_of(OF_ITS_OWN, "m")[0] == "native"
    assert not auto.learn(OF_ITS_OWN, "m", "tools", prose=True)
    assert selector("hybrid").choose(OF_ITS_OWN, asked_for("m")) == HYBRID
    assert auto.learn(OF_ITS_OWN, "m", "tools")
    assert isinstance(auto.choose(OF_ITS_OWN, asked_for("m")), Prompted)


@pytest.mark.parametrize("mode", ["native", "hybrid", "prompted"])
def test_only_auto_changes_its_way_for_want_of_tools(mode: str) -> None:
    fixed = selector(mode)
    before = fixed.choose(HERE, asked_for("m"))
    assert not fixed.learn(HERE, "m", "tools")
    assert fixed.choose(HERE, asked_for("m")) == before


def test_a_backend_that_cannot_constrain_is_not_asked_to_again() -> None:
    prompted = selector("prompted")
    assert prompted.learn(CONSTRAINING, "m", "constraint")
    assert prompted.choose(CONSTRAINING, asked_for("m", demanded=True)) == PROMPTED
    assert not selector("native").learn(CONSTRAINING, "m", "constraint")


def test_a_backend_is_tried_again_after_a_while() -> None:
    now = 0.0
    auto = StrategySelector("auto", "hermes", clock=lambda: now)
    auto.learn(HERE, "m", "tools")
    now = REMEMBERED - 1
    assert auto.choose(HERE, asked_for("m")) == PROMPTED
    now = REMEMBERED
    assert auto.choose(HERE, asked_for("m")) == HYBRID
    assert auto.known("m") == {}
    assert auto.learn(HERE, "m", "tools")
    assert auto.choose(HERE, asked_for("m")) == PROMPTED


def formed(**wanted: Any) -> Request:
    return asking((), {"response_format": msgspec.json.encode(wanted)})


def test_calls_or_the_clients_form_is_what_a_backend_is_held_to_that_can_be() -> None:
    prompted = selector("prompted")
    union = replace(CONSTRAINED, union=True)
    json = formed(type="json_object")
    assert prompted.choose(CONSTRAINING, asked_for("m", optional=json)) == union
    assert prompted.choose(CONSTRAINING, asked_for("m", demanded=True)) == CONSTRAINED
    assert prompted.choose(HERE, asked_for("m", optional=json)) == PROMPTED
    text = formed(type="text")
    assert prompted.choose(CONSTRAINING, asked_for("m", optional=text)) == PROMPTED


def test_a_backend_that_takes_no_such_choice_can_still_be_held_to_calls() -> None:
    prompted, json = selector("prompted"), formed(type="json_object")
    assert replace(CONSTRAINED, union=True).lack(refused("response_format: no anyOf")) == ("union")
    assert prompted.learn(CONSTRAINING, "m", "union")
    assert prompted.choose(CONSTRAINING, asked_for("m", optional=json)) == PROMPTED
    assert prompted.choose(CONSTRAINING, asked_for("m", demanded=True)) == CONSTRAINED


def test_only_so_much_is_remembered() -> None:
    auto = selector("auto")
    for number in range(3000):
        auto.learn(HERE, f"model-{number}", "tools")
    assert auto.choose(HERE, asked_for("model-2999")) == PROMPTED
    assert auto.choose(HERE, asked_for("model-0")) == HYBRID


@pytest.mark.parametrize(
    ("strategy", "shown"),
    [(NATIVE, "native"), (HYBRID, "hybrid:hermes"), (PROMPTED, "prompted:hermes")],
)
def test_a_strategy_is_shown_in_a_word(strategy: ToolStrategy, shown: str) -> None:
    assert str(strategy) == shown


def refused(words: str, **fields: Any) -> UpstreamRefused:
    return UpstreamRefused(words, status=400, **fields)


WITHOUT_TOOLS = [
    "registry.example/library/gemma:latest does not support tools",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "tools param requires --jinja flag",
    "Unrecognized request argument supplied: tools",
    "Unsupported parameter: 'tools' is not supported with this model.",
    "Function calling is not enabled for this model",
    "`tool calling` is not supported with this model",
    "No endpoints found that support tool use.",
    "Additional properties are not allowed ('tools' was unexpected)",
    "Chat.create() got an unexpected keyword argument 'tools'",
    "[{'loc': ['body', 'tools'], 'msg': 'Extra inputs are not permitted'}]",
    "Please launch the api_server with --tool-call-parser if you want to use tool.",
    "This model doesn't support tool calling",
    "Invalid parameter: tools",
    "tools are not available on this endpoint",
    "Tool calling is unavailable for this model",
    "Function calling isn't available for this model",
    "The model 'phi' has no tool support",
    "The model x lacks tool calling support",
    "The model does not have tool calling capability",
    "This endpoint does not accept the parameter tools.",
    "unexpected property: tools",
    "Received unexpected parameter: 'tools'",
    "Invalid request: parameter 'tools' not recognized",
    'Invalid JSON payload received. Unknown name "tools": Cannot find field.',
    "Invalid value for 'tools': this model cannot call functions",
    "Tool calls are not yet implemented",
]
ABOUT_THIS_REQUEST = [
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 "
    "in the messages, 1000 in the functions), which is not supported.",
    "Invalid schema for function 'f': unsupported keyword 'not'.",
    "Invalid 'tools[0].function.name': string does not match pattern.",
    "Unexpected tool call id call_1 in tool results",
    "An assistant message with 'tool_calls' must be followed by tool messages",
    "Unexpected role 'tool' after role 'user'",
    "The model `x` does not exist",
    "Unknown name \"x\" at 'tools[0].function_declarations[0]': Cannot find field.",
    "unexpected property: tools[0].strict",
    "unexpected parameter: tools.0.function.strict",
    "The tool search_tools is not available in tools",
    "Tools not recognized: web_search",
    "This function is not available in your region.",
    "Unsupported value: 'temperature' does not support 0.2 with this model.",
    "",
]


@pytest.mark.parametrize("words", WITHOUT_TOOLS)
def test_servers_that_have_no_tools_are_understood(words: str) -> None:
    assert HYBRID.lack(refused(words)) == "tools"
    assert HYBRID.lack(UpstreamError(f"The backend 'b' answered 500: {words}")) == "tools"
    assert HYBRID.lack(UpstreamUnavailable(f"The backend 'b' answered 503: {words}")) == "tools"


@pytest.mark.parametrize("words", ABOUT_THIS_REQUEST)
def test_a_refusal_of_this_one_request_teaches_nothing(words: str) -> None:
    assert HYBRID.lack(refused(words)) is None


@pytest.mark.parametrize("words", [*WITHOUT_TOOLS, "response_format is not supported"])
def test_what_was_not_sent_cannot_be_refused(words: str) -> None:
    assert PROMPTED.lack(refused(words)) is None


WITHOUT_CALLS = [
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "After the optional system message, conversation roles must alternate user/assistant/...",
    "Only user and assistant roles are supported!",
    "Only user, assistant and system roles are supported!",
    "Invalid role: tool",
    "Unknown role: tool",
    "Unexpected role 'tool'",
    "Unexpected tool role",
    "tool role is not supported",
    "role 'tool' not supported",
    "'tool' is not one of ['system', 'assistant', 'user', 'function'] - 'messages.2.role'",
    "Invalid value: 'tool'. Supported values are: 'system', 'assistant', 'user', and 'developer'.",
    "messages[2].role: Input should be 'system', 'user' or 'assistant'",
    'can only concatenate str (not "NoneType") to str',
    "'dict object' has no attribute 'content'",
]
ABOUT_OTHER_ROLES = [
    "Unexpected role 'tool' after role 'user'",
    "Input should be 'system', 'user', 'assistant' or 'tool'",
    "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', and 'tool'.",
    "'tool' is not one of ['auto', 'none', 'required'] - 'tool_choice'",
    "Invalid role: toolbox",
]
SYSTEM = {"role": "system", "content": "x"}


def after_a_call(*before: Any, **fields: Any) -> Plan:
    """A turn in whose conversation a tool was called."""
    return read(body(messages=[*before, USER, asked(call()), result()], **fields))


@pytest.mark.parametrize("words", WITHOUT_CALLS)
def test_a_template_without_a_place_for_calls_has_no_tools(words: str) -> None:
    messages = after_a_call().outgoing.messages
    for error in (refused(words), UpstreamError(f"The backend 'b' answered 500: {words}")):
        assert HYBRID.lack(error, messages) == "tools"
        assert HYBRID.lack(error, asked_for().outgoing.messages) != "tools"
        assert PROMPTED.lack(error, messages) != "tools"


@pytest.mark.parametrize("words", [*ABOUT_THIS_REQUEST, *ABOUT_OTHER_ROLES])
def test_a_refusal_of_something_else_says_nothing_about_calls(words: str) -> None:
    assert HYBRID.lack(refused(words), after_a_call().outgoing.messages) is None


def test_a_system_prompt_is_the_first_reason_why_roles_do_not_alternate() -> None:
    messages, error = after_a_call(SYSTEM).outgoing.messages, refused(WITHOUT_CALLS[0])
    assert HYBRID.lack(error, messages) == "system"
    assert replace(HYBRID, system_role=False).lack(error, messages) == "tools"


def test_a_backend_that_has_called_is_without_tools_for_one_conversation_only() -> None:
    auto = selector("auto")
    auto.called(HERE, "m")
    assert auto.learn(HERE, "m", "tools", by_history=True)
    assert auto.known("m") == {}
    turn = after_a_call().without(HERE.name, "tools")
    assert auto.choose(HERE, turn) == PROMPTED
    assert auto.choose(HERE, asked_for()) == replace(HYBRID, unproven=False)


def test_a_refused_schema_is_known_by_its_words_or_its_parameter() -> None:
    assert CONSTRAINED.lack(refused("response_format.type must be text")) == "constraint"
    assert CONSTRAINED.lack(refused("Bad value.", param="response_format")) == "constraint"
    assert CONSTRAINED.lack(refused("structured_outputs: no such field")) == "constraint"
    assert CONSTRAINED.lack(refused("Too many messages.")) is None
    assert HYBRID.lack(refused("response_format is not supported")) is None


def test_prose_where_a_call_is_demanded_says_that_what_was_sent_is_ignored() -> None:
    assert HYBRID.lack(ToolChoiceUnmet("no call")) == "tools"
    assert CONSTRAINED.lack(ToolChoiceUnmet("no call")) == "constraint"
    assert PROMPTED.lack(ToolChoiceUnmet("no call")) is None


def test_a_call_of_another_tool_than_the_one_demanded_says_that_there_are_tools() -> None:
    unmet = ToolChoiceUnmet("another call")
    unmet.called = True
    assert HYBRID.lack(unmet) is None
    assert CONSTRAINED.lack(unmet) == "constraint"


@pytest.mark.parametrize("kind", [KeyRefused, UpstreamTimeout, InvalidToolArguments])
def test_a_backend_that_fails_lacks_nothing(kind: type[UpstreamError]) -> None:
    assert HYBRID.lack(kind("The tools are not supported.")) is None


def test_examples_are_shown_where_tools_are_written_into_the_prompt() -> None:
    shown = StrategySelector("prompted", "hermes", 2)
    assert shown.choose(HERE, asked_for("m")).examples == 2
    assert shown.choose(CONSTRAINING, asked_for("m", demanded=True)).examples == 2
    assert StrategySelector("auto", "hermes", 2).choose(HERE, asked_for("m")) == HYBRID


def test_a_model_that_makes_one_call_at_a_time_is_asked_for_one() -> None:
    backend: Any = FakeBackend(capabilities=Capabilities(one_call=True, constrains=True))
    assert selector("prompted").choose(backend, asked_for("m")).one_call
    assert selector("prompted").choose(backend, asked_for("m", demanded=True)).one_call
    assert not selector("prompted").choose(HERE, asked_for("m", demanded=True)).one_call


def test_a_format_that_was_measured_comes_before_one_that_is_guessed() -> None:
    assert format_of("Qwen3-Coder-30B", format="generic") == "generic"
    backend: Any = FakeBackend(capabilities=Capabilities(format="generic"))
    assert selector("prompted", "mistral").choose(backend, asked_for("m")).format == "mistral"


CHOOSING: Any = FakeBackend(capabilities=Capabilities(constrains=True, chooses=True))


def test_a_backend_that_lets_the_model_choose_is_given_the_choice() -> None:
    assert selector("prompted").choose(CHOOSING, asked_for()) == CONSTRAINED


def test_a_model_is_not_let_choose_after_a_result_or_where_text_has_a_form() -> None:
    """A model that needs to be let choose repeats the call it has made."""
    prompted = selector("prompted")
    answered = read(body(tools=[tool()], messages=[USER, asked(call()), result()]))
    assert prompted.choose(CHOOSING, answered) == PROMPTED
    form = prompted.choose(CHOOSING, asked_for(optional=formed(type="json_object")))
    assert form == replace(CONSTRAINED, union=True)


def test_what_a_server_does_not_implement_when_it_is_sent_tools_is_tools() -> None:
    assert HYBRID.lack(UpstreamError("The backend 'b' answered 501.")) == "tools"


WITHOUT_SYSTEM = [
    "System role not supported",
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "This model does not support system messages",
    "Only user and assistant roles are supported!",
    "Developer instruction is not enabled for models/gemma-3-27b-it",
    "invalid params, chat content has invalid message role: system (2013)",
]


@pytest.mark.parametrize("words", WITHOUT_SYSTEM)
def test_a_model_without_a_system_role_is_told_of_its_tools_by_the_user(words: str) -> None:
    auto = StrategySelector("prompted", format="hermes")
    plan = asked_for("m")
    first = auto.choose(HERE, plan)
    lack = first.lack(refused(words))
    assert lack == "system"
    assert auto.learn(HERE, "m", lack)
    told = auto.choose(HERE, plan).outgoing(plan).messages
    assert [message.role for message in told] == ["user"]
    assert str(told[0].content).startswith("You can call the following tools.")
    assert auto.choose(HERE, plan).lack(refused(words)) is None


@pytest.mark.parametrize("mode", ["native", "hybrid", "auto"])
def test_a_server_without_a_system_role_is_remembered_in_every_mode(mode: str) -> None:
    strategies, plan = (
        selector(mode),
        read(body(messages=[{"role": "system", "content": "x"}, USER])),
    )
    assert strategies.choose(HERE, plan).lack(refused(WITHOUT_SYSTEM[0])) == "system"
    assert strategies.learn(HERE, "m", "system")
    sent = strategies.choose(HERE, plan).outgoing(plan).messages
    assert [message.role for message in sent] == ["user"]
    assert [m.role for m in strategies.choose(THERE, plan).outgoing(plan).messages] == [
        "system",
        "user",
    ]


def test_one_lack_does_not_hide_another() -> None:
    strategies = selector("auto")
    strategies.learn(HERE, "m", "tools")
    strategies.learn(HERE, "m", "constraint")
    assert strategies.known("m") == {"b": "without tools, constraint"}
