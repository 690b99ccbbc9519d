"""A raw-text model reads tools and its own calls from text, and writes calls as its format does."""

import json
from typing import Any

import pytest
from tests.scripted.answer import Answer, Call
from tests.scripted.raw import understood
from tests.scripted.raw_formats import PROSE, RAW_FORMATS, SLIPS, written
from tests.scripted.request import ChatRequest
from tests.scripted.scripts import load_script

NUMBER = {"properties": {"number": {"type": "integer"}}, "required": ["number"]}
TOOL = {"name": "count", "description": "", "parameters": NUMBER}
SYSTEM = f"Tools:\n\n{json.dumps(TOOL)}\n\nWrite {{}}."
CALLS = (Call("f", {"a": "x\ny", "b": [1, {"c": None}]}), Call("g_h", {}))

WRITTEN = {
    "hermes": '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
    "llama3_json": '{"name": "f", "parameters": {"a": 1}}',
    "mistral": '[TOOL_CALLS]f[ARGS]{"a": 1}',
    "deepseek_v31": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}'
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "openai": '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
    "pythonic": "[f(a=1)]",
    "qwen3_coder": (
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
    ),
}


def ask(script: Any, *messages: dict[str, Any]) -> Answer:
    return load_script(script)(ChatRequest({"messages": list(messages)}))


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


@pytest.mark.parametrize("name", RAW_FORMATS)
def test_a_call_is_written_as_the_models_of_the_format_do(name: str) -> None:
    assert written(RAW_FORMATS[name], "", [Call("f", {"a": 1})], ()) == WRITTEN[name]


@pytest.mark.parametrize("name", RAW_FORMATS)
def test_what_was_written_is_read_again(name: str) -> None:
    text = written(RAW_FORMATS[name], "Some words.", CALLS, ())
    assert "Some words." in text
    assert list(RAW_FORMATS[name].read(text)) == [(call.name, call.args) for call in CALLS]


def test_calls_that_a_schema_put_into_a_list_are_read() -> None:
    text = '{"tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]}'
    assert list(RAW_FORMATS["hermes"].read(text)) == [("f", {"a": 1}), ("g", {})]


@pytest.mark.parametrize("name", RAW_FORMATS)
def test_a_text_without_calls_is_written_as_it_is(name: str) -> None:
    assert written(RAW_FORMATS[name], "Some words.", (), SLIPS) == "Some words."
    assert list(RAW_FORMATS[name].read("Some [words] and {more}.")) == []


@pytest.mark.parametrize(
    ("name", "slip"),
    [(form.name, slip) for form in RAW_FORMATS.values() for slip in sorted({"prose", *form.slips})],
)
def test_a_slip_makes_a_difference(name: str, slip: str) -> None:
    form = RAW_FORMATS[name]
    assert written(form, "", CALLS, {slip}) != written(form, "", CALLS, ())
    assert slip != "prose" or PROSE in written(form, "", CALLS, {slip})


def test_the_tools_are_those_that_the_prompt_describes() -> None:
    request = ChatRequest({"messages": [system(SYSTEM)], "tools": [{"function": {"name": "x"}}]})
    assert understood(request, RAW_FORMATS["hermes"]).tools == [TOOL]
    assert understood(ChatRequest({"messages": []}), RAW_FORMATS["hermes"]).tools == []


@pytest.mark.parametrize(
    ("words", "choice"),
    [
        (
            "You must call the tool f now, and no other.",
            {"type": "function", "function": {"name": "f"}},
        ),
        ("You must call at least one of the tools now.", "required"),
        ("Hello", "auto"),
    ],
)
def test_what_must_be_called_is_read_from_the_prompt(words: str, choice: Any) -> None:
    for role in ("system", "user"):
        request = ChatRequest({"messages": [{"role": role, "content": words}]})
        assert understood(request, RAW_FORMATS["hermes"]).tool_choice == choice


@pytest.mark.parametrize("name", RAW_FORMATS)
def test_many_calls_are_counted_in_the_text_of_earlier_turns(name: str) -> None:
    messages, said = [system(SYSTEM)], []
    while "done" not in (answer := ask(f"raw:{name}/many:3", *messages)).text:
        said.append(answer.text)
        messages += [{"role": "assistant", "content": answer.text}, {"role": "user", "content": ""}]
    assert answer.text == "done after 3 calls"
    assert len(set(said)) == 3


def test_a_script_of_turns_can_be_played_raw() -> None:
    script = {"raw": "hermes,prefix", "turns": [{"text": "So.", "calls": [["f", {}]]}, "end"]}
    first = ask(script, system(SYSTEM))
    assert first.text.startswith('So.\n<tool_call>\n{"name": "functions.f"')
    assert (first.calls, first.finish_reason) == ((), "stop")
    assert ask(script, {"role": "assistant", "content": first.text}).text == "end"


@pytest.mark.parametrize("how", ["nope", "hermes,nope"])
def test_an_unknown_format_or_slip_is_refused_by_name(how: str) -> None:
    with pytest.raises(LookupError, match="'nope'"):
        load_script(f"raw:{how}")
