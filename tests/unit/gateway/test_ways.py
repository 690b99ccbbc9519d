"""Which way a model is given its tools, and what a backend's refusal teaches about the next."""

from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest
from tests.asking import asking
from toolwire.gateway.ways import NATIVE, REMEMBERED, Way, Ways, lacking

from toolwire.backends.base import UNKNOWN, Capabilities
from toolwire.errors import (
    ToolChoiceUnmet,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from toolwire.protocol.chat import Request


@dataclass
class FakeBackend:
    """As much of a backend as a choice of way needs."""

    name: str = "b"
    constrains: bool = False
    capabilities: Capabilities = UNKNOWN

    def chooses(self, request: Request) -> bool:
        return False


HERE: Any = FakeBackend()
THERE: Any = FakeBackend("other")
CONSTRAINING: Any = FakeBackend(constrains=True)
WATCHED, PROMPTED = Way("watched", "hermes"), Way("prompted", "hermes")
CONSTRAINED = Way("prompted", "generic", constrained=True)


def ways(mode: Any, name: str | None = "hermes") -> Ways:
    return Ways(mode, name)


@pytest.mark.parametrize(
    ("mode", "way"),
    [("native", NATIVE), ("watched", WATCHED), ("prompted", PROMPTED), ("auto", WATCHED)],
)
def test_a_mode_says_how_a_turn_begins(mode: str, way: Way) -> None:
    assert ways(mode).choose(HERE, "m", demanded=False) == way


def test_a_format_is_configured_or_found_by_the_models_name() -> None:
    assert ways("prompted", "mistral").choose(HERE, "Qwen3-8B", demanded=False).format == "mistral"
    found = ways("prompted", None).choose(HERE, "Qwen3-Coder-30B", demanded=False)
    assert found.format == "qwen3_coder"
    assert ways("prompted", None).choose(HERE, "no-such-model", demanded=False).format == "hermes"


def format_of(model: str, **facts: Any) -> str:
    backend: Any = FakeBackend(capabilities=Capabilities(**facts))
    return str(ways("auto", None).choose(backend, model, demanded=False).format)


def test_what_the_backend_knows_of_its_model_says_more_than_the_name_that_is_asked_for() -> None:
    assert format_of("gpt-4o", name="Qwen3-Coder-30B") == "qwen3_coder"
    assert format_of("gpt-4o", name="Qwen3-Coder-30B", template="[TOOL_CALLS]{{ c }}[ARGS]") == (
        "mistral"
    )
    assert format_of("Qwen3-Coder-30B", name="unheard-of", template="{{ messages }}") == (
        "qwen3_coder"
    )


def test_a_format_is_shown_with_its_reason() -> None:
    assert ways("auto", "mistral").format_of("m").reason == "it is configured"
    assert "'qwen3-coder'" in ways("auto", None).format_of("Qwen3-Coder-30B").reason
    assert "nothing tells" in ways("auto", None).format_of("m").reason


def test_tools_are_not_offered_where_there_is_no_use_in_it() -> None:
    backend: Any = FakeBackend(capabilities=Capabilities(has_tools=False))
    assert ways("auto").choose(backend, "m", demanded=False) == PROMPTED
    assert ways("watched").choose(backend, "m", demanded=False) == WATCHED


@pytest.mark.parametrize("mode", ["native", "watched", "prompted", "auto"])
def test_marks_of_a_prompt_are_known_on_every_way(mode: str) -> None:
    backend: Any = FakeBackend(capabilities=Capabilities(marks=("<end>",)))
    assert ways(mode).choose(backend, "m", demanded=False).marks == ("<end>",)


def test_a_demanded_call_is_constrained_where_the_backend_can() -> None:
    prompted = ways("prompted")
    assert prompted.choose(CONSTRAINING, "m", demanded=True) == CONSTRAINED
    assert prompted.choose(CONSTRAINING, "m", demanded=False) == PROMPTED
    assert prompted.choose(HERE, "m", demanded=True) == PROMPTED
    assert ways("watched").choose(CONSTRAINING, "m", demanded=True) == WATCHED


def test_auto_remembers_a_backend_without_tools_by_backend_and_model() -> None:
    auto = ways("auto")
    assert auto.learn(HERE, "m", "tools")
    assert auto.choose(HERE, "m", demanded=False) == PROMPTED
    assert auto.choose(HERE, "n", demanded=False) == WATCHED
    assert auto.choose(THERE, "m", demanded=False) == WATCHED
    assert auto.known("m") == {"b": "without tools"}


def test_what_is_learned_twice_is_no_news() -> None:
    auto = ways("auto")
    assert auto.learn(HERE, "m", "tools")
    assert not auto.learn(HERE, "m", "tools")


@pytest.mark.parametrize("mode", ["native", "watched", "prompted"])
def test_only_auto_changes_its_way_for_want_of_tools(mode: str) -> None:
    fixed = ways(mode)
    before = fixed.choose(HERE, "m", demanded=False)
    assert not fixed.learn(HERE, "m", "tools")
    assert fixed.choose(HERE, "m", demanded=False) == before


def test_a_backend_that_cannot_constrain_is_not_asked_to_again() -> None:
    prompted = ways("prompted")
    assert prompted.learn(CONSTRAINING, "m", "constraint")
    assert prompted.choose(CONSTRAINING, "m", demanded=True) == PROMPTED
    assert not ways("native").learn(CONSTRAINING, "m", "constraint")


def test_a_backend_is_tried_again_after_a_while() -> None:
    now = 0.0
    auto = Ways("auto", "hermes", clock=lambda: now)
    auto.learn(HERE, "m", "tools")
    now = REMEMBERED - 1
    assert auto.choose(HERE, "m", demanded=False) == PROMPTED
    now = REMEMBERED
    assert auto.choose(HERE, "m", demanded=False) == WATCHED
    assert auto.known("m") == {}
    assert auto.learn(HERE, "m", "tools")
    assert auto.choose(HERE, "m", demanded=False) == PROMPTED


def formed(**wanted: Any) -> Request:
    return asking((), {"response_format": msgspec.json.encode(wanted)})


def test_calls_or_the_clients_form_is_what_a_backend_is_held_to_that_can_be() -> None:
    prompted = ways("prompted")
    union = replace(CONSTRAINED, union=True)
    json = formed(type="json_object")
    assert prompted.choose(CONSTRAINING, "m", demanded=False, optional=json) == union
    assert prompted.choose(CONSTRAINING, "m", demanded=True) == CONSTRAINED
    assert prompted.choose(HERE, "m", demanded=False, optional=json) == PROMPTED
    text = formed(type="text")
    assert prompted.choose(CONSTRAINING, "m", demanded=False, optional=text) == PROMPTED


def test_a_backend_that_takes_no_such_choice_can_still_be_held_to_calls() -> None:
    prompted, json = ways("prompted"), formed(type="json_object")
    assert lacking(refused("response_format: no anyOf"), replace(CONSTRAINED, union=True)) == (
        "union"
    )
    assert prompted.learn(CONSTRAINING, "m", "union")
    assert prompted.choose(CONSTRAINING, "m", demanded=False, optional=json) == PROMPTED
    assert prompted.choose(CONSTRAINING, "m", demanded=True) == CONSTRAINED


def test_only_so_much_is_remembered() -> None:
    auto = ways("auto")
    for number in range(3000):
        auto.learn(HERE, f"model-{number}", "tools")
    assert auto.choose(HERE, "model-2999", demanded=False) == PROMPTED
    assert auto.choose(HERE, "model-0", demanded=False) == WATCHED


@pytest.mark.parametrize(
    ("way", "shown"),
    [(NATIVE, "native"), (WATCHED, "watched:hermes"), (PROMPTED, "prompted:hermes")],
)
def test_a_way_is_shown_in_a_word(way: Way, shown: str) -> None:
    assert str(way) == shown


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
    "Unsupported value: 'temperature' does not support 0.2 with this model.",
    "",
]


@pytest.mark.parametrize("words", WITHOUT_TOOLS)
def test_servers_that_have_no_tools_are_understood(words: str) -> None:
    assert lacking(refused(words), WATCHED) == "tools"
    assert (
        lacking(UpstreamUnavailable(f"The backend 'b' answered 500: {words}"), WATCHED) == "tools"
    )


@pytest.mark.parametrize("words", ABOUT_THIS_REQUEST)
def test_a_refusal_of_this_one_request_teaches_nothing(words: str) -> None:
    assert lacking(refused(words), WATCHED) is None


@pytest.mark.parametrize("words", [*WITHOUT_TOOLS, "response_format is not supported"])
def test_what_was_not_sent_cannot_be_refused(words: str) -> None:
    assert lacking(refused(words), PROMPTED) is None


def test_a_refused_schema_is_known_by_its_words_or_its_parameter() -> None:
    assert lacking(refused("response_format.type must be text"), CONSTRAINED) == "constraint"
    assert lacking(refused("Bad value.", param="response_format"), CONSTRAINED) == "constraint"
    assert lacking(refused("structured_outputs: no such field"), CONSTRAINED) == "constraint"
    assert lacking(refused("Too many messages."), CONSTRAINED) is None
    assert lacking(refused("response_format is not supported"), WATCHED) is None


def test_prose_where_a_call_is_demanded_says_that_what_was_sent_is_ignored() -> None:
    assert lacking(ToolChoiceUnmet("no call"), WATCHED) == "tools"
    assert lacking(ToolChoiceUnmet("no call"), CONSTRAINED) == "constraint"
    assert lacking(ToolChoiceUnmet("no call"), PROMPTED) is None


def test_a_call_of_another_tool_than_the_one_demanded_says_that_there_are_tools() -> None:
    needs_probe = ToolChoiceUnmet("another call")
    needs_probe.called = True
    assert lacking(needs_probe, WATCHED) is None
    assert lacking(needs_probe, CONSTRAINED) == "constraint"


@pytest.mark.parametrize("kind", [UpstreamError, UpstreamTimeout])
def test_a_backend_that_fails_lacks_nothing(kind: type[UpstreamError]) -> None:
    assert lacking(kind("The tools are not supported."), WATCHED) is None


def test_examples_are_shown_where_tools_are_written_into_the_prompt() -> None:
    shown = Ways("prompted", "hermes", 2)
    assert shown.choose(HERE, "m", demanded=False).examples == 2
    assert shown.choose(CONSTRAINING, "m", demanded=True).examples == 2
    assert Ways("auto", "hermes", 2).choose(HERE, "m", demanded=False).examples == 0


def test_a_model_that_makes_one_call_at_a_time_is_asked_for_one() -> None:
    backend: Any = FakeBackend(capabilities=Capabilities(one_call=True), constrains=True)
    assert ways("prompted").choose(backend, "m", demanded=False).one_call
    assert ways("prompted").choose(backend, "m", demanded=True).one_call
    assert not ways("prompted").choose(HERE, "m", demanded=True).one_call


def test_a_format_that_was_measured_comes_before_one_that_is_guessed() -> None:
    assert format_of("Qwen3-Coder-30B", format="generic") == "generic"
    backend: Any = FakeBackend(capabilities=Capabilities(format="generic"))
    assert ways("prompted", "mistral").choose(backend, "m", demanded=False).format == "mistral"
