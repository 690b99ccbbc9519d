"""What a backend is sent: byte for byte where that matters, and in its own dialect."""

import json
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace
from tests.contract.wire import USER, asked, body, call, history, read, result, tool

from toolwire.backends.base import Constraint
from toolwire.backends.dialects import DIALECTS, ConstraintKind, Dialect
from toolwire.backends.openai.params import ignored_params
from toolwire.backends.openai.request import encode_body

OPENAI, VLLM, OLLAMA, MISTRAL = (DIALECTS[n] for n in ("openai", "vllm", "ollama", "mistral"))
GENERIC, KIMI, DEEPSEEK = (DIALECTS[n] for n in ("generic", "moonshot", "deepseek"))


def encoded(raw: bytes, dialect: Dialect = OPENAI, model: str | None = None) -> bytes:
    return b"".join(encode_body(read(raw).outgoing, dialect, model))


def sent(raw: bytes, dialect: Dialect = OPENAI, model: str | None = None) -> dict[str, Any]:
    """The body, which has no key twice."""
    pairs: list[tuple[str, Any]] = json.loads(
        encoded(raw, dialect, model), object_pairs_hook=lambda pairs: pairs
    )
    assert len({name for name, _ in pairs}) == len(pairs)
    made: dict[str, Any] = json.loads(encoded(raw, dialect, model))
    return made


def test_the_smallest_request_is_exactly_this() -> None:
    assert encoded(body()) == (
        b'{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":false}'
    )


def test_the_backends_own_name_for_the_model_is_used() -> None:
    assert sent(body(model="gpt"), model="qwen3:8b")["model"] == "qwen3:8b"
    assert sent(body(model="gpt"))["model"] == "gpt"


def test_a_turn_with_calls_is_exactly_this() -> None:
    raw = history(USER, asked(call("call_1", "f", '{"a": 1}')), result("call_1", "ok"))
    assert encoded(raw) == (
        b'{"model":"m","messages":[{"role":"user","content":"hello"},'
        b'{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",'
        b'"function":{"name":"f","arguments":"{\\"a\\": 1}"}}]},'
        b'{"role":"tool","content":"ok","name":"f","tool_call_id":"call_1"}],"stream":false}'
    )


class TestMessages:
    def test_developers_are_systems_where_nobody_knows_them(self) -> None:
        raw = history({"role": "developer", "content": "x"}, USER)
        assert sent(raw, OPENAI)["messages"][0]["role"] == "developer"
        assert sent(raw, VLLM)["messages"][0]["role"] == "system"

    def test_what_sdks_echo_back_is_gone(self) -> None:
        function = {"name": "f", "arguments": "{}", "parsed_arguments": {}}
        echoed = {"id": "a", "type": "function", "index": 0, "call_id": "a", "function": function}
        message = asked(echoed, refusal=None, annotations=[], audio=None, parsed=None)
        made = sent(history(USER, message, result("a")))["messages"][1]
        assert set(made) == {"role", "content", "tool_calls"}
        assert set(made["tool_calls"][0]) == {"id", "type", "function"}
        assert set(made["tool_calls"][0]["function"]) == {"name", "arguments"}

    def test_reasoning_goes_back_only_where_it_is_wanted(self) -> None:
        raw = history(USER, {"role": "assistant", "content": "x", "reasoning_content": "hm"}, USER)
        assert sent(raw, DEEPSEEK)["messages"][1]["reasoning_content"] == "hm"
        assert "reasoning_content" not in sent(raw, OPENAI)["messages"][1]

    def test_the_name_of_a_tool_is_looked_up_by_the_id_of_its_call(self) -> None:
        raw = history(
            asked(call("a", "read"), call("b", "write")), result("b"), {**result("a"), "name": "x"}
        )
        assert [m.get("name") for m in sent(raw)["messages"]] == [None, "read", "write"]

    def test_results_are_in_call_order(self) -> None:
        raw = history(asked(call("a"), call("b")), result("b", "2"), result("a", "1"))
        assert [m["content"] for m in sent(raw)["messages"][1:]] == ["1", "2"]

    def test_no_arguments_are_an_empty_object(self) -> None:
        raw = history(asked(call("a", arguments="")), result("a"))
        function = sent(raw)["messages"][0]["tool_calls"][0]["function"]
        assert function["arguments"] == "{}"

    def test_arguments_keep_their_text(self) -> None:
        text = '{ "b":1,\n"a": 1.0, "é": "\\u00e9" }'
        raw = history(asked(call("a", arguments=text)), result("a"))
        assert sent(raw)["messages"][0]["tool_calls"][0]["function"]["arguments"] == text

    def test_an_assistant_that_said_nothing_has_empty_content(self) -> None:
        """Some servers refuse null without calls."""
        raw = history(USER, {"role": "assistant", "content": None}, USER)
        assert sent(raw)["messages"][1] == {"role": "assistant", "content": ""}

    def test_parts_are_passed_on_byte_for_byte(self) -> None:
        part = b'{"type":"image_url",  "image_url":{"url":"data:\\u0041"},"detail":1.0}'
        raw = b'{"model":"m","messages":[{"role":"user","content":[%b, %b]}]}' % (part, part)
        assert b'"content":[' + part + b"," + part + b"]" in encoded(raw)

    def test_a_custom_call_is_written_as_one(self) -> None:
        custom = {"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls {"}}
        made = sent(history(asked(custom), result("a")))["messages"][0]["tool_calls"][0]
        assert made == custom

    def test_the_name_of_a_user_is_kept_where_it_may_be(self) -> None:
        raw = history({"role": "user", "content": "x", "name": "ann"})
        assert sent(raw)["messages"][0]["name"] == "ann"
        nameless = replace(OPENAI, message_names=False)
        assert "name" not in sent(raw, nameless)["messages"][0]


class TestCallIds:
    RAW = history(asked(call("call_1", "read"), call("x" * 99)), result("x" * 99), result("call_1"))

    def ids(self, dialect: Dialect, raw: bytes = RAW) -> list[str]:
        """The ids of the calls; each is also that of its result."""
        calls, *results = sent(raw, dialect)["messages"]
        ids = [made["id"] for made in calls["tool_calls"]]
        assert [made["tool_call_id"] for made in results] == ids
        return ids

    def test_they_are_kept_where_anything_goes(self) -> None:
        assert self.ids(VLLM) == ["call_1", "x" * 99]

    def test_they_are_no_longer_than_openai_allows(self) -> None:
        first, second = self.ids(OPENAI)
        assert first == "call_1"
        assert len(second) <= 40

    def test_they_are_nine_alphanumerics_for_mistral(self) -> None:
        assert all(len(made) == 9 and made.isalnum() for made in self.ids(MISTRAL))

    def test_they_are_of_kimis_form(self) -> None:
        assert self.ids(KIMI) == ["functions.read:0", "functions.f:1"]

    def test_they_are_the_same_for_the_next_turn(self) -> None:
        longer = history(
            *json.loads(self.RAW)["messages"], USER, asked(call("call_2")), result("call_2")
        )
        for dialect in DIALECTS.values():
            earlier, later = encoded(self.RAW, dialect), encoded(longer, dialect)
            start = earlier.index(b'"messages"')
            shared = earlier[start : earlier.index(b'],"stream"')]
            assert later[later.index(b'"messages"') :].startswith(shared), dialect.name


class TestParameters:
    @pytest.mark.parametrize(
        ("dialect", "fields", "expected"),
        [
            (OPENAI, {"max_tokens": 5}, {"max_tokens": 5}),
            (OPENAI, {"max_completion_tokens": 5}, {"max_completion_tokens": 5}),
            (OLLAMA, {"max_completion_tokens": 5}, {"max_tokens": 5}),
            (OLLAMA, {"max_tokens": 5}, {"max_tokens": 5}),
            (KIMI, {"max_tokens": 5}, {"max_completion_tokens": 5}),
            (MISTRAL, {"seed": 7}, {"random_seed": 7}),
            (VLLM, {"top_k": 7}, {"top_k": 7}),
            (OPENAI, {"top_k": 7}, {}),
            (GENERIC, {"user": "me"}, {}),
            (OPENAI, {"chat_template": "{{7*7}}", "api_key": "x", "base_url": "http://x"}, {}),
            (VLLM, {"guided_json": {}, "extra_body": {"n": 999}}, {}),
        ],
    )
    def test_each_server_gets_what_it_takes_under_its_name(
        self, dialect: Dialect, fields: dict[str, Any], expected: dict[str, Any]
    ) -> None:
        made = sent(body(**fields), dialect)
        assert {
            name: made[name] for name in made.keys() - {"model", "messages", "stream"}
        } == expected

    def test_two_names_for_one_limit_become_one(self) -> None:
        made = sent(body(max_tokens=5, max_completion_tokens=6), OLLAMA)
        assert made["max_tokens"] == 6

    def test_what_only_some_servers_understand_is_passed_on_byte_for_byte(self) -> None:
        odd = b'"metadata":{"a":  "\\u0041"}'
        assert odd in encoded(body()[:-1] + b"," + odd + b"}")

    def test_what_was_not_sent_is_named(self) -> None:
        request = read(body(top_k=1, frobnicate=2, temperature=1)).request
        assert ignored_params(request, OPENAI) == ["top_k", "frobnicate"]
        assert ignored_params(request, VLLM) == ["frobnicate"]


def test_a_demanded_call_takes_the_place_of_the_clients_response_format() -> None:
    """A key must not be sent twice: servers differ in which of the two they read."""
    plan = read(body(response_format={"type": "json_object"}))
    for name in ("openai", "llamacpp"):
        outgoing = structs.replace(plan.outgoing, constraint=Constraint(b'{"type":"object"}'))
        made = b"".join(encode_body(outgoing, DIALECTS[name], None))
        assert made.count(b'"response_format"') == 1
        assert b"json_object" not in made


NAMED_FORM = {"name": "tool_calls", "strict": True, "schema": {"type": "object"}}
FORM = {"type": "json_schema", "json_schema": NAMED_FORM}


@pytest.mark.parametrize(
    ("constraint", "field", "value"),
    [
        ("json_schema", "response_format", FORM),
        ("grammar", "response_format", FORM),
        ("structured_outputs", "structured_outputs", {"json": {"type": "object"}}),
        ("guided_json", "guided_json", {"type": "object"}),
    ],
)
def test_the_schema_of_calls_is_sent_once_and_in_the_form_that_the_server_takes(
    constraint: ConstraintKind, field: str, value: dict[str, Any]
) -> None:
    own = {field: {"type": "json_object"}, "skip_special_tokens": True}
    dialect = replace(VLLM.with_params(own, ()), constraint=constraint)
    outgoing = read(body(**own)).outgoing
    outgoing = structs.replace(
        outgoing, constraint=Constraint(b'{"type":"object"}'), keep_special_tokens=True
    )
    made = b"".join(encode_body(outgoing, dialect, None))
    assert (json.loads(made)[field], json.loads(made)["skip_special_tokens"]) == (value, False)
    assert (made.count(f'"{field}"'.encode()), made.count(b'"skip_special_tokens"')) == (1, 1)


class TestStream:
    def test_usage_is_asked_for_only_if_the_client_asks(self) -> None:
        assert "stream_options" not in sent(body(stream=True))
        made = sent(body(stream=True, stream_options={"include_usage": True}))
        assert (made["stream"], made["stream_options"]) == (True, {"include_usage": True})

    def test_usage_is_not_asked_for_where_the_question_is_unknown(self) -> None:
        raw = body(stream=True, stream_options={"include_usage": True})
        assert "stream_options" not in sent(raw, MISTRAL)


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


class TestTools:
    def test_they_are_written_as_they_were_checked(self) -> None:
        raw = body(tools=[tool("f", SCHEMA, description="Reads."), tool("g")])
        assert sent(raw)["tools"] == [
            tool("f", SCHEMA, description="Reads."),
            tool("g", {"type": "object", "properties": {}}),
        ]

    def test_a_key_given_twice_in_a_schema_is_sent_once(self) -> None:
        twice = b'{"name":"f","parameters":{"type":"string","type":"object"}}'
        tools = b',"tools":[{"type":"function","function":%b}]}' % twice
        raw = body()[:-1] + tools
        assert encoded(raw).count(b'"type":"object"') == 1
        assert b'"type":"string"' not in encoded(raw)

    def test_strict_is_said_only_where_it_is_true(self) -> None:
        closed = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
        raw = body(tools=[tool("f", closed, strict=True), tool("g", strict=False)])
        functions = [made["function"] for made in sent(raw)["tools"]]
        assert [made.get("strict") for made in functions] == [True, None]

    def test_fields_that_nobody_knows_are_not_passed_on(self) -> None:
        raw = body(tools=[{**tool("f"), "cache_control": {}}])
        assert set(sent(raw)["tools"][0]) == {"type", "function"}

    def test_without_tools_nothing_is_said_about_them(self) -> None:
        made = sent(body(tools=[], tool_choice="none", parallel_tool_calls=False))
        assert made.keys().isdisjoint({"tools", "tool_choice", "parallel_tool_calls"})

    @pytest.mark.parametrize(("value", "said"), [(False, False), (True, None), (None, None)])
    def test_parallel_calls_are_turned_off_where_that_is_possible(
        self, value: bool | None, said: bool | None
    ) -> None:
        raw = body(tools=[tool("f")], parallel_tool_calls=value)
        assert sent(raw).get("parallel_tool_calls") is said
        assert "parallel_tool_calls" not in sent(raw, GENERIC)

    @pytest.mark.parametrize("choice", ["auto", "none", "required"])
    def test_the_choice_is_said(self, choice: str) -> None:
        assert sent(body(tools=[tool("f")], tool_choice=choice))["tool_choice"] == choice

    @pytest.mark.parametrize(
        "form", [{"type": "function", "function": {"name": "f"}}, {"type": "function", "name": "f"}]
    )
    def test_a_named_choice_is_said_in_the_nested_form(self, form: dict[str, Any]) -> None:
        made = sent(body(tools=[tool("f"), tool("g")], tool_choice=form))
        assert made["tool_choice"] == {"type": "function", "function": {"name": "f"}}
        assert len(made["tools"]) == 2

    def test_a_named_choice_leaves_one_tool_where_it_cannot_be_said(self) -> None:
        choice = {"type": "function", "function": {"name": "g"}}
        raw = body(tools=[tool("f"), tool("g")], tool_choice=choice)
        for dialect in DIALECTS.values():
            if "named" not in dialect.tool_choices:
                names = [made["function"]["name"] for made in sent(raw, dialect)["tools"]]
                assert names == ["g"], dialect.name

    def test_nothing_is_offered_where_none_cannot_be_said(self) -> None:
        assert "tools" not in sent(body(tools=[tool("f")], tool_choice="none"), OLLAMA)

    @pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
    @pytest.mark.parametrize("choice", ["auto", "none", "required"])
    def test_a_server_without_tool_choice_is_sent_none(self, dialect: Dialect, choice: str) -> None:
        made = sent(body(tools=[tool("f")], tool_choice=choice), dialect)
        assert ("tool_choice" in made) <= ("tool_choice" in dialect.params)

    def test_allowed_tools_are_the_only_ones_offered(self) -> None:
        inner = {"mode": "required", "tools": [{"type": "function", "function": {"name": "g"}}]}
        choice = {"type": "allowed_tools", "allowed_tools": inner}
        made = sent(body(tools=[tool("f"), tool("g")], tool_choice=choice))
        assert [made["function"]["name"] for made in made["tools"]] == ["g"]
        assert made["tool_choice"] == "required"


@pytest.mark.parametrize(("dialect", "asked_for"), [(VLLM, True), (OPENAI, False)])
def test_special_tokens_are_kept_where_a_server_would_strip_the_markers(
    dialect: Dialect, asked_for: bool
) -> None:
    outgoing = structs.replace(read(body()).outgoing, keep_special_tokens=True)
    made = b"".join(encode_body(outgoing, dialect, None))
    assert (b'"skip_special_tokens":false' in made) is asked_for
    assert (b'"spaces_between_special_tokens":false' in made) is asked_for
    assert b"skip_special_tokens" not in encoded(body(), dialect)


@pytest.mark.parametrize("content", ["gone", [{"type": "text", "text": "gone"}]])
def test_a_tool_that_failed_is_told_in_words_where_the_wire_has_no_other_form(content: Any) -> None:
    raw = history(USER, asked(call("call_1")), result("call_1", content))
    outgoing = read(raw).outgoing
    messages = [structs.replace(m, is_error=m.role == "tool") for m in outgoing.messages]
    body_sent = encode_body(structs.replace(outgoing, messages=messages), OPENAI, None)
    told = json.loads(b"".join(body_sent))["messages"][-1]["content"]
    assert (told if isinstance(told, str) else told[0]["text"]) == "Error: gone"


@pytest.mark.parametrize(("dialect", "most"), [("openai", 4), ("vllm", 6), ("generic", 4)])
def test_a_server_gets_no_more_stop_sequences_than_it_takes(dialect: str, most: int) -> None:
    outgoing = read(body()).outgoing
    sampling = structs.replace(outgoing.request.sampling, stop=tuple("abcdef"))
    request = structs.replace(outgoing.request, sampling=sampling)
    made = encode_body(structs.replace(outgoing, request=request), DIALECTS[dialect], None)
    assert json.loads(b"".join(made))["stop"] == list("abcdef")[:most]


@pytest.mark.parametrize(
    ("dialect", "effort"), [("openai", "xhigh"), ("vllm", "high"), ("mistral", "high")]
)
def test_an_effort_is_the_nearest_that_the_server_knows(dialect: str, effort: str) -> None:
    asked_for = body(reasoning_effort="xhigh")
    assert sent(asked_for, DIALECTS[dialect])["reasoning_effort"] == effort


def of_template(on: bool) -> dict[str, Any]:
    return {"chat_template_kwargs": {"enable_thinking": on, "thinking": on}}


@pytest.mark.parametrize(
    ("name", "on", "off"),
    [
        *((name, of_template(True), of_template(False)) for name in ("vllm", "sglang", "llamacpp")),
        ("lmdeploy", {"enable_thinking": True}, {"enable_thinking": False}),
        ("deepseek", {}, {"thinking": {"type": "disabled"}}),
        ("moonshot", {}, {"thinking": {"type": "disabled"}}),
        ("ollama", {}, {"reasoning_effort": "none"}),
        ("openai", {}, {}),
    ],
)
def test_each_server_is_told_in_its_own_form_whether_to_think(
    name: str, on: dict[str, Any], off: dict[str, Any]
) -> None:
    outgoing, dialect = read(body()).outgoing, DIALECTS[name]
    for thinks, form in ((True, on), (False, off)):
        sampling = structs.replace(outgoing.request.sampling, thinking=thinks)
        request = structs.replace(outgoing.request, sampling=sampling)
        made = encode_body(structs.replace(outgoing, request=request), dialect, None)
        assert json.loads(b"".join(made)) == {**sent(body(), dialect), **form}
        assert ignored_params(request, dialect) == (["thinking"] if name == "openai" else [])
