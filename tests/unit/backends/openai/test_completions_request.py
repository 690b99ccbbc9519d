"""A turn as the body of a plain completion, in the dialect of each kind of server."""

import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.asking import asking, parts

from toolwire.backends.base import BackendRequest, Constraint
from toolwire.backends.dialects import DIALECTS, ConstraintKind
from toolwire.backends.openai.completions_request import completions_dialect, encode_completion
from toolwire.backends.openai.params import ignored_params
from toolwire.backends.templates.messages import folded, template_messages
from toolwire.errors import Place, UpstreamRefused
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import NO_TOOLS

MESSAGES = (ChatMessage("user", "hi"),)
SCHEMA = {"type": "object", "properties": {"a": {"const": 1}}}
FIELDS = ("structured_outputs", "json_schema", "response_format")
FORM = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}


def body(
    dialect: str,
    *,
    schema: Any = None,
    special: bool = False,
    end: str = "",
    remove: tuple[str, ...] = (),
    constraint: ConstraintKind | None = None,
    **params: Any,
) -> dict[str, Any]:
    stream = params.pop("stream", False)
    raw = {name: json.dumps(value).encode() for name, value in params.items()}
    request = asking(MESSAGES, raw, stream=stream, include_usage=stream)
    held = Constraint(json.dumps(schema).encode()) if schema else None
    outgoing = BackendRequest(request, MESSAGES, NO_TOOLS, held, keep_special_tokens=special)
    kind = DIALECTS[dialect].with_params((), remove)
    spoken = completions_dialect(replace(kind, constraint=constraint or kind.constraint))
    sent: dict[str, Any] = json.loads(encode_completion(outgoing, "P", spoken, None, stop=end))
    return sent


def test_a_prompt_takes_the_place_of_messages() -> None:
    assert body("vllm", temperature=0.5) == {
        "model": "m",
        "prompt": "P",
        "temperature": 0.5,
        "max_tokens": None,
        "stream": False,
    }
    streamed = body("vllm", stream=True)
    assert (streamed["stream"], streamed["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_limit_of_tokens_has_one_name_and_is_always_there(dialect: str) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        sent = body(dialect, **{name: 7})
        assert sent["max_tokens"] == 7
        assert "max_completion_tokens" not in sent
    assert body(dialect)["max_tokens"] in (None, -1, 4096)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, ["<end>"]),
        ("\n", ["\n", "<end>"]),
        (["<end>"], ["<end>"]),
        (list("abcd"), list("abcd")),
    ],
)
def test_the_end_of_a_turn_is_a_stop_beside_the_clients(given: Any, sent: list[str]) -> None:
    params = {"stop": given} if given else {}
    assert body("generic", end="<end>", **params)["stop"] == sent


@pytest.mark.parametrize("dialect", ["vllm", "llamacpp", "sglang"])
def test_a_server_that_takes_more_than_four_stops_gets_them_all(dialect: str) -> None:
    assert body(dialect, end="<end>", stop=list("abcd"))["stop"] == [*"abcd", "<end>"]


def test_what_a_configuration_takes_away_is_not_sent_by_ourselves_either() -> None:
    sent = body("vllm", end="<end>", stop="a", max_tokens=7, remove=("stop", "max_tokens"))
    assert not {"stop", "max_tokens"} & set(sent)


def test_a_parameter_has_the_name_that_the_server_has_for_it() -> None:
    assert body("mistral", seed=7)["random_seed"] == 7


@pytest.mark.parametrize(
    ("dialect", "held", "formed"),
    [
        ("vllm", {"structured_outputs": {"json": SCHEMA}}, {"response_format": FORM}),
        ("llamacpp", {"json_schema": SCHEMA}, {"json_schema": SCHEMA}),
        ("openai", {}, {}),
    ],
)
def test_calls_and_forms_are_constrained_as_the_server_can(
    dialect: str, held: dict[str, Any], formed: dict[str, Any]
) -> None:
    for sent, wanted in (
        (body(dialect, schema=SCHEMA), held),
        (body(dialect, response_format=FORM), formed),
        (body(dialect, response_format={"type": "text"}), {}),
    ):
        assert {name: sent[name] for name in FIELDS if name in sent} == wanted
    constrains = completions_dialect(DIALECTS[dialect]).constraint != "none"
    assert constrains is bool(held)


def test_the_constraint_of_a_backend_wins_over_its_dialects() -> None:
    assert body("vllm", schema=SCHEMA, constraint="guided_json")["guided_json"] == SCHEMA
    assert not set(body("vllm", schema=SCHEMA, constraint="none")) & {"guided_json", *FIELDS}
    # What other servers take with prompts is not known, whatever they take with messages.
    assert "guided_json" not in body("openai", schema=SCHEMA, constraint="guided_json")


def test_a_form_that_is_none_and_one_that_is_taken_away_are_not_sent() -> None:
    for sent in (
        body("llamacpp", response_format={"type": "text"}),
        body("vllm", response_format=None),
        body("vllm", response_format=FORM, remove=("response_format",)),
        body("llamacpp", response_format=FORM, remove=("response_format",)),
    ):
        assert not set(sent) & set(FIELDS)


def test_a_server_that_wants_the_form_of_chat_gets_it() -> None:
    held = body("sglang", schema=SCHEMA)["response_format"]
    assert held["json_schema"]["schema"] == SCHEMA


def test_special_tokens_are_kept_where_they_mark_a_call() -> None:
    assert body("vllm", special=True)["skip_special_tokens"] is False
    assert body("vllm", special=True)["spaces_between_special_tokens"] is False
    assert "skip_special_tokens" not in body("vllm")
    assert "skip_special_tokens" not in body("llamacpp", special=True)


def test_what_belongs_to_a_chat_is_left_out_and_named() -> None:
    raw = dict.fromkeys(("top_logprobs", "seed", "top_k"), b"1")
    raw |= {"logprobs": b"true", "reasoning_effort": b'"low"'}
    spoken = completions_dialect(DIALECTS["vllm"].with_params(("mine",), ()))
    request = asking(MESSAGES, {**raw, "mine": b"2"})
    assert ignored_params(request, spoken) == ["logprobs", "top_logprobs", "reasoning_effort"]


AUDIO = b'{"type":"input_audio","input_audio":{"data":"","format":"wav"}}'


def test_messages_are_given_to_templates_as_plain_text() -> None:
    part = b'{"type":"text","text":"a"}'
    said = (
        ChatMessage("developer", "S", name="x"),
        ChatMessage("user", parts(part, part)),
        ChatMessage("assistant", None, reasoning="R"),
    )
    assert template_messages(said) == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "a\na"},
        {"role": "assistant", "content": "", "reasoning_content": "R"},
    ]
    with pytest.raises(UpstreamRefused, match="input_audio") as caught:
        template_messages([ChatMessage("user", parts(part, AUDIO))])
    assert caught.value.place == Place(message=0, part=1)


def test_a_template_that_is_particular_gets_two_roles_in_turns() -> None:
    said = ["system", "user", "user", "assistant", "system", "user"]
    messages = [{"role": role, "content": str(at)} for at, role in enumerate(said)]
    assert [(m["role"], m["content"]) for m in folded(messages)] == [
        ("user", "0\n\n1\n\n2"),
        ("assistant", "3"),
        ("user", "4\n\n5"),
    ]


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "llamacpp", "lmdeploy"])
def test_what_is_rendered_here_is_not_sent(dialect: str) -> None:
    sent = body(dialect, chat_template_kwargs={"a": 1}, enable_thinking=True, top_p=0.5)
    assert "top_p" in sent
    assert not {"chat_template_kwargs", "enable_thinking"} & sent.keys()
