"""What a caller of the library sees: events, delivery, reasoning, trace."""

import json
import sys

import pytest

from toolwire.formats import (
    RenderedCall,
    Trace,
    extract,
    get,
    join,
    names,
    parser_for,
    render_calls,
)
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    TextDelta,
)
from toolwire.protocol.tools import ToolSpec

WRITE = ToolSpec("write", None, {"properties": {"text": {"type": "string"}}})
CALL = '<tool_call>{"name": "write", "arguments": {"text": "ab"}}</tool_call>'


def test_live_sends_the_name_at_once_and_arguments_as_they_arrive() -> None:
    parser = parser_for("hermes", [WRITE])
    assert parser.feed('<tool_call>{"name": "write", "arguments": {"') == [
        CallStart(0, "write"),
        ArgsDelta(0, '{"'),
    ]
    assert parser.feed('text": "a') == [ArgsDelta(0, 'text": "a')]
    assert parser.feed('b"}}</tool_call>') == [ArgsDelta(0, 'b"}'), CallEnd(0)]
    assert parser.finish() == []


def test_whole_sends_a_call_when_it_is_complete() -> None:
    parser = parser_for("hermes", [WRITE], delivery="whole")
    assert parser.feed(CALL[:50]) == []
    assert parser.feed(CALL[50:]) == [
        CallStart(0, "write"),
        ArgsDelta(0, '{"text": "ab"}'),
        CallEnd(0),
    ]


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("mistral", "[TOOL_CALLS]write[ARGS]"),
        ("mistral", "[TOOL_CALLS]write"),
        ("deepseek_v31", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write<｜tool▁sep｜>"),
        ("react", "Action: write\nAction Input:"),
        ("functionary_v32", ">>>write\n"),
    ],
)
def test_a_header_that_the_text_ends_with_is_a_call_if_its_tool_has_no_parameters(
    name: str, header: str
) -> None:
    assert extract(name, header, [WRITE]).calls == []
    assert [
        call.arguments for call in extract(name, header, [ToolSpec("write", None, {})]).calls
    ] == ["{}"]


def test_a_string_that_is_cut_off_is_no_arguments() -> None:
    text = '[TOOL_CALLS]write[ARGS]"{\\"te'
    assert (extract("mistral", text, [WRITE]).content, extract("mistral", text).calls) == (text, [])


@pytest.mark.parametrize("name", ["glm45", "glm47", "poolside_v1", "spark25"])
def test_a_call_without_arguments_is_sent_with_its_end_and_not_later(name: str) -> None:
    events = parser_for(name, [ToolSpec("refresh", None, {})]).feed(
        "<tool_call>refresh</tool_call>"
    )
    assert events == [CallStart(0, "refresh"), ArgsDelta(0, "{}"), CallEnd(0)]


@pytest.mark.parametrize("end", [",", ", ", ", n", ", n "])
def test_a_python_string_ends_where_the_next_key_is_cut_off(end: str) -> None:
    parser = parser_for("pythonic", [WRITE])
    events = [*parser.feed(f"[write(text='ab'{end}"), *parser.finish()]
    assert join(events).calls[0].arguments == '{"text": "ab"'


@pytest.mark.parametrize("end", ["", "'", "' ", "\\", "\\x", "\\u00e", "\\ud83d\\ude0"])
def test_a_python_string_has_only_what_is_certain_where_it_is_cut_off(end: str) -> None:
    parser = parser_for("pythonic", [WRITE])
    events = [*parser.feed(f"[write(text='ab{end}"), *parser.finish()]
    assert join(events).calls[0].arguments == '{"text": "ab'


def test_a_string_parameter_streams_and_another_waits_for_its_end() -> None:
    tool = ToolSpec("f", None, {"properties": {"n": {"type": "integer"}, "s": {"type": "string"}}})
    parser = parser_for("qwen3_coder", [tool])
    parser.feed("<tool_call>\n<function=f>\n<parameter=s>\n")
    parser.feed("hel")
    assert parser.feed("lo") == [ArgsDelta(0, "lo")]
    parser.feed("\n</parameter>\n<parameter=n>\n")
    parser.feed("1")
    assert parser.feed("2") == []


@pytest.mark.parametrize("name", ["qwen3_coder", "glm45", "minimax_m2", "deepseek_v4", "hy_v3"])
def test_a_call_quoted_far_before_the_end_of_a_value_is_part_of_it(name: str) -> None:
    quoted = render_calls(name, [RenderedCall("look", {"at": "x"}, "0")])
    value = f"Like\n{quoted}\n" + "and so on\n" * 4000 + "end"
    text = render_calls(name, [RenderedCall("write", {"text": value}, "0")])
    for size in (3, 1000, len(text)):
        parser = parser_for(name, [WRITE])
        events = [e for at in range(0, len(text), size) for e in parser.feed(text[at : at + size])]
        (call,) = join([*events, *parser.finish()]).calls
        assert json.loads(call.arguments) == {"text": value}


def test_what_the_model_broke_is_delivered_as_it_is_when_live() -> None:
    parser = parser_for("hermes", [WRITE])
    events = parser.feed('<tool_call>{"name": "write", "arguments": {"text": oops}}</tool_call>')
    assert events == [
        CallStart(0, "write"),
        ArgsDelta(0, '{"text": oops}}'),
        CallEnd(0, complete=False),
    ]


def test_a_turn_may_start_inside_reasoning_that_the_prompt_opened() -> None:
    parser = parser_for("hermes", [WRITE])
    assert parser.feed("<think>") == []
    events: list[Event] = [*parser.feed("so</think>\n\nHi"), *parser.finish()]
    assert events == [ReasoningDelta("so"), TextDelta("Hi")]


def test_the_id_the_model_wrote_is_kept() -> None:
    text = "<|tool_call_begin|>functions.write:3<|tool_call_argument_begin|>{}<|tool_call_end|>"
    assert extract("kimi_k2", text, [WRITE]).calls[0].provider_id == "functions.write:3"
    text = '[TOOL_CALLS]write[CALL_ID]123456789[ARGS]{"text": ""}'
    assert extract("mistral", text, [WRITE]).calls[0].provider_id == "123456789"


def test_the_trace_says_what_was_taken_for_what_and_why_not() -> None:
    trace = Trace()
    extract("hermes", f"<tool_call>no</tool_call> {CALL}", [WRITE], trace=trace)
    assert [span.kind for span in trace.spans] == ["text", "text", "call"]
    assert trace.spans[0].why.endswith("not the JSON of a call")


def test_an_unknown_format_is_named_with_what_there_is() -> None:
    with pytest.raises(KeyError, match=r"hermse.*hermes"):
        get("hermse")


HOSTILE = [
    "__import__('os').system('id')",
    "().__class__.__base__.__subclasses__()",
    "9**9**9",
    'f"{open(1)}"',
    "exec('x')",
    "(lambda: 1)()",
    "[x for x in ()]",
    "{**a}",
    "*args",
    "${7*7}{{7*7}}",
]


def test_hostile_arguments_are_never_evaluated() -> None:
    seen: list[str] = []
    armed = True

    def hook(event: str, _args: object) -> None:
        if armed and event in {"exec", "compile", "open", "os.system", "import"}:
            seen.append(event)

    frames = ["{}", "[write(text={})]", "<function=write>\n<parameter=text>\n{}\n</parameter>"]
    texts = [frame.replace("{}", bad) for frame in frames for bad in HOSTILE]
    for name in names():  # compile what is compiled once, before the hook is armed
        extract(name, "", [WRITE])
        for marker in get(name).framing.markers():
            extract(name, marker + texts[0], [WRITE])
    sys.addaudithook(hook)
    for name in names():
        for text in texts:
            for marker in ("", *get(name).framing.markers()[:2]):
                extract(name, marker + text, [WRITE])
    armed = False
    assert [event for event in seen if event != "compile"] == []


@pytest.mark.parametrize("name", ["llama3_json", "json"])
@pytest.mark.parametrize(
    ("written", "taken"),
    [("Get-Weather", True), ("functions.get_weather", True), ("weather", False)],
)
def test_a_call_without_markers_may_differ_in_spelling_if_only_one_tool_can_be_meant(
    name: str, written: str, taken: bool
) -> None:
    tools = [
        ToolSpec("get_weather", None, {"properties": {"city": {"type": "string"}}}),
        ToolSpec("now"),
    ]
    text = render_calls(name, [RenderedCall(written, {"city": "Bern"})])
    found = extract(name, text, tools)
    assert bool(found.calls) is taken
    assert taken or found.content == text


@pytest.mark.parametrize("name", ["json", "xlam", "sarashina"])
def test_an_empty_array_behind_a_call_stays_text(name: str) -> None:
    call = '[{"name": "write", "arguments": {"text": "ab"}}]'
    found = extract(name, f"{call}\n[] and []", [WRITE])
    assert (len(found.calls), found.content) == (1, "\n[] and []")


@pytest.mark.parametrize(
    "pieces", [["a\ud83d\ude00b"], ["a\ud83d", "\ude00b"], ["a", "\ud83d", "\ude00", "b"]]
)
def test_the_halves_of_a_character_are_joined(pieces: list[str]) -> None:
    parser = parser_for("hermes", [WRITE])
    events = [event for piece in pieces for event in parser.feed(piece)]
    assert join([*events, *parser.finish()]).content == "a😀b"


@pytest.mark.parametrize("pieces", [["a\ud83d"], ["a", "\ud83d"], ["a" + chr(0xDE00)]])
def test_half_a_character_is_replaced(pieces: list[str]) -> None:
    parser = parser_for("hermes", [WRITE])
    events = [event for piece in pieces for event in parser.feed(piece)]
    assert join([*events, *parser.finish()]).content == "a\ufffd"


@pytest.mark.parametrize("key", ["a\nb", "a\\nb"])
def test_a_key_over_two_lines_is_none_of_a_call(key: str) -> None:
    text = f'<tool_call>{{"{key}": 1, "name": "write", "arguments": {{}}}}</tool_call>'
    found = extract("hermes", text, [WRITE])
    assert (found.calls, found.content) == ([], text)


def test_any_number_of_functions_in_each_other_is_text() -> None:
    text = "```tool_code\n" + "print(" * 5_000
    found = extract("gemma3", text, [WRITE])
    assert (found.calls, found.content) == ([], text)


def test_text_behind_a_call_without_its_last_closing_tag_is_soon_sent() -> None:
    parser = parser_for("qwen3_coder", [WRITE])
    parser.feed("<tool_call>\n<function=write>\n<parameter=text>x\n</function>\n</tool_call>\n")
    words = "words " * 2000
    said = [event.text for event in parser.feed(words) if isinstance(event, TextDelta)]
    assert words.startswith("".join(said).lstrip())
    assert len("".join(said)) > len(words) / 2
