"""Calls in a format that nobody expected: found while the text streams, and nothing else is."""

import json
import random
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from toolwire.formats import (
    OutputDetector,
    RenderedCall,
    join,
    names,
    provider_id,
    render_calls,
)
from toolwire.formats.detection.trial import Trial
from toolwire.formats.record import Format
from toolwire.protocol.events import CallEnd, CallStart, Event, TextDelta
from toolwire.protocol.tools import ToolSpec

_CASES = files("toolwire.conformance") / "cases"
TOOLS = [
    ToolSpec(tool["name"], None, tool["parameters"])
    for tool in json.loads((_CASES / "_tools.json").read_text("utf-8"))
]
WEATHER = {"city": "Paris", "days": 2}
TIME = {"tz": "CET"}
JSON_CALL = '{"name": "get_time", "arguments": {"tz": "CET"}}'
# The same wire under another name: which of these models wrote it, the text does not say.
ALIKE = {
    "hermes": {"granite4", "trinity", "ernie45", "hf"},
    "jamba": {"hunyuan_a13b", "apriel", "minimax_m1"},
    "json": {"llama3_json", "xlam", "generic"},
    "glm45": {"glm47", "ling3", "poolside_v1", "spark25"},
    "qwen3_coder": {"step3p5", "mimo"},
    "granite": {"phi4_mini"},
    "cohere_command3": {"cohere_command4"},
    "mistral_v3": {"mistral_v7"},
    "hy_v3": {"hy_v4"},
    "phi4_mini_json": {"firefunction_v2"},
    "longcat": {"longcat_tagged"},
}


def _written(name: str) -> str:
    calls = (("get_weather", WEATHER), ("get_time", TIME))
    rendered = [RenderedCall(n, a, provider_id(name, n, i)) for i, (n, a) in enumerate(calls)]
    return render_calls(name, rendered)


def _outcome(events: list[Event]) -> tuple[Any, ...]:
    joined = join(events)
    ends = [event.complete for event in events if isinstance(event, CallEnd)]
    return joined.content, joined.reasoning, tuple(joined.calls), tuple(ends)


def _read(text: str, size: int = 0, **how: Any) -> tuple[OutputDetector, list[Event]]:
    detector = OutputDetector(TOOLS, **how)
    step = size or len(text) or 1
    events = [
        event
        for start in range(0, len(text), step)
        for event in detector.feed(text[start : start + step])
    ]
    return detector, [*events, *detector.finish()]


_ELEMENT = '<rfl:parameter name="tz">\nCET\n</rfl:parameter><|call|>'
_LOOKALIKES = {
    "a Functionary's second call, which looks like GLM's up to there": (
        'get_weather\n{"city": "Paris", "days": 2}>>>get_time\n{"tz": "CET"}',
        [("get_weather", WEATHER), ("get_time", TIME)],
    ),
    "a call of Beam behind text, which looks like gpt-oss's": (
        "<|channel|>final<|message|>Let me see.<|end|><|start|>assistant to=get_time"
        f"<|channel|>analysis <|constrain|>xml<|message|>{_ELEMENT}",
        [("get_time", TIME)],
    ),
}


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize(("text", "calls"), _LOOKALIKES.values(), ids=_LOOKALIKES)
def test_a_format_that_looks_like_another_at_first_is_read(
    text: str, calls: list[tuple[str, Any]], size: int
) -> None:
    _, events = _read(text, size)
    assert [(call.name, call.decoded()) for call in join(events).calls] == calls
    assert all(event.complete for event in events if isinstance(event, CallEnd))


def test_a_format_that_writes_the_sign_itself_is_preferred() -> None:
    detector, _ = _read('Sure.\n>>>get_time\n{"tz": "CET"}')
    assert detector.found is not None
    assert detector.found.format == "functionary_v32"


_SAME_CALLS = f"<tool_calls>[{JSON_CALL}]</tool_calls>"
_MARKUP = {
    "apriel": f"I think.\n[BEGIN FINAL RESPONSE]\nLet me see.\n{_SAME_CALLS}",
    "hunyuan_a13b": f"<answer>\nLet me see.\n</answer>{_SAME_CALLS}",
    "jamba": f"Let me see.\n{_SAME_CALLS}",
}


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("name", _MARKUP)
def test_markup_in_front_tells_formats_with_the_same_calls_apart(name: str, size: int) -> None:
    detector, _ = _read(_MARKUP[name], size)
    assert detector.found is not None
    assert detector.found.format == name


_PLAIN_CALLS = (
    '{"tool": "get_time", "args": {"tz": "CET"}}',
    '{"action": "get_time", "action_input": {"tz": "CET"}}',
    'get_time(tz="CET")',
    "get_time(\n    tz='CET',\n)\n",
)


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "```\n{}\n```"])
@pytest.mark.parametrize("text", _PLAIN_CALLS)
def test_an_answer_that_is_only_a_call_needs_no_marker(text: str, fence: str, size: int) -> None:
    _, events = _read(fence.replace("{}", text, 1), size, fences=True)
    joined = join(events)
    assert [(call.name, call.decoded()) for call in joined.calls] == [("get_time", TIME)]
    assert not (joined.content or "").strip()


_NO_PLAIN_CALLS = (
    'get_time(tz="CET") returns the time.',
    'get_time(tz="CET"',
    "get_time(tz=zone)",
    "get_time(the zone) is what you want",
    "refresh() is a function.",
    "refresh () is a function.",
    '{"tool": "get_time", "args": {"tz": "CET"}, "result": 12}',
)


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("text", _NO_PLAIN_CALLS)
def test_an_answer_that_is_more_than_a_call_is_text(text: str, size: int) -> None:
    _, events = _read(text, size, fences=True)
    assert join(events).content == text
    assert not join(events).calls


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("lead", ["", "\n"])
def test_a_name_and_json_at_the_start_are_a_call(size: int, lead: str) -> None:
    detector, events = _read(f'{lead}get_time\n{{"tz": "CET"}}', size)
    found = join(events)
    assert [(call.name, call.decoded()) for call in found.calls] == [("get_time", {"tz": "CET"})]
    assert detector.found is not None
    assert detector.found.format == "glm4_0414"


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("text", ["get_time", "get_time\n", "get_time\nis a tool.", "get_times {}"])
def test_a_name_without_json_is_text(size: int, text: str) -> None:
    detector, events = _read(text, size)
    assert join(events).content == text
    assert detector.found is None


@pytest.mark.parametrize("size", [0, 1, 5])
def test_tags_with_the_suffix_of_a_checkpoint_are_found(size: int) -> None:
    detector, events = _read(_written("hy_v3").replace(">", ":opensource>"), size)
    assert [call.name for call in join(events).calls] == ["get_weather", "get_time"]
    assert detector.found is not None
    assert detector.found.format == "hy_v3"


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("name", names())
def test_calls_of_any_format_are_found(name: str, size: int) -> None:
    detector, events = _read(_written(name), size)
    found = join(events)
    calls = [(call.name, json.loads(call.arguments)) for call in found.calls]
    assert calls == [("get_weather", WEATHER), ("get_time", TIME)]
    assert not (found.content or "").strip()
    assert detector.found is not None
    assert name in {detector.found.format, *ALIKE.get(detector.found.format, ())}


# Its calls are messages: behind text they follow a token.
BEHIND_TEXT = sorted(set(names()) - {"glm4_0414"})


@pytest.mark.parametrize("name", BEHIND_TEXT)
def test_text_in_front_of_the_calls_is_text(name: str) -> None:
    _, events = _read("Let me `look`.\n" + _written(name), 7)
    found = join(events)
    assert len(found.calls) == 2
    assert (found.content or "").rstrip() == "Let me `look`."


NAMED = {
    "glm4_0414": 'get_time\n{"tz": "CET"}<|assistant|>get_time\n{"tz": "CET"}',
    "functionary_v32": 'all\nI look.>>>get_time\n{"tz": "CET"}>>>get_time\n{"tz": "CET"}',
    "cline_xml": "<get_time>\n<tz>CET</tz>\n</get_time>\n<get_time>\n<tz>CET</tz>\n</get_time>",
}


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("name", NAMED)
def test_an_answer_may_begin_with_the_name_of_a_tool(name: str, size: int) -> None:
    detector, events = _read(NAMED[name], size)
    assert [json.loads(call.arguments) for call in join(events).calls] == [TIME, TIME]
    assert detector.found is not None
    assert detector.found.format == name


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize(
    "text",
    [
        "get_time\nis a tool.",
        "get_time\n\n- {a}",
        'get_time\n{"zone": "CET"}',
        "get_time\n{ echo hi; }",
        'get_time: {"tz": "CET"}',
        "get_time",
        "get_time\n",
        "<get_time> is a tag.",
        "<get_time>x</get_time>",
        "<get_time>\n<zone>CET</zone>\n</get_time>",
        "<get_tim",
        'I call\nget_time\n{"tz": "CET"}',
        "<p>\n<get_time> is a tag.",
        "Say:\n<get_time>x</get_time>\n<get_tim",
        "Say:\n<get_time>\n<zone>CET</zone>\n</get_time>",
        "Say <get_time><tz>CET</tz></get_time>",
        "Say:\n<get_time>\n</get_time>\n<get_time>\n<get_time>",
        'Say:\n<get_time>{"zone": 1}</get_time>',
        'Template:\n<get_time>\n{"$each": "x"}\n</get_time>\nmore',
        "Say:\n<get_time>{}</get_time>\n<get_time>[1]</get_time>",
        "```xml\n<get_time>\n<tz>CET</tz>\n</get_time>\n```\nis how.",
    ],
)
def test_the_name_of_a_tool_alone_is_text(text: str, size: int) -> None:
    detector, events = _read(text, size)
    assert detector.found is None
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == text


def _cases() -> Iterator[tuple[str, str]]:
    for name in names():
        page = json.loads((_CASES / f"{name}.json").read_text("utf-8"))
        for case in page["cases"]:
            if case["tools"] == "standard" and len(case["text"]) < 300:
                yield f"{name}:{case['name']}", case["text"]


@pytest.mark.parametrize("name", names())
def test_it_does_not_matter_how_the_text_is_cut(name: str) -> None:
    texts = [text for case, text in _cases() if case.startswith(f"{name}:")]
    choose = random.Random(name)
    for text in choose.sample(texts, min(12, len(texts))):
        for how in ({}, {"fences": True}):
            whole = _outcome(_read(text, **how)[1])
            cut = choose.randint(1, max(len(text) - 1, 1))
            for size in (1, 3, cut):
                assert _outcome(_read(text, size, **how)[1]) == whole, (text, size)


PIECES = ["`", "```", "```json\n", "\n", " ", '"', "{", "[", "<", "Action: ", "text ", JSON_CALL]
PIECES += ["<tool_call>", "</tool_call>", "[get_time(tz='CET')]", "<|channel|>", "functools["]


def test_nothing_is_lost_or_doubled_where_there_is_no_call() -> None:
    choose = random.Random(7)
    for _ in range(400):
        text = "".join(choose.choice(PIECES) for _ in range(choose.randint(1, 9)))
        _, events = _read(text, choose.randint(1, 6))
        if not any(isinstance(event, CallStart) for event in events):
            assert "".join(e.text for e in events if isinstance(e, TextDelta)) == text


def test_plain_text_is_not_held() -> None:
    detector = OutputDetector(TOOLS)
    text = "Plain words, a <b>, f(x) = {1}, [2] and `code`; Also action.\n- one\n> two\n" * 20
    given = 0
    for fed, char in enumerate(text, 1):
        given += sum(len(e.text) for e in detector.feed(char) if isinstance(e, TextDelta))
        assert fed - given <= 32, text[:fed]
        assert detector.held == fed - given


def test_code_in_a_fence_streams() -> None:
    detector = OutputDetector(TOOLS, fences=True)
    events = detector.feed("```python\nimport os\n")
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "```python\nimport os"
    events = detector.feed("x = {\n")
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "\nx = {"


def test_a_line_of_code_in_a_fence_streams() -> None:
    detector = OutputDetector(TOOLS, fences=True)
    events = detector.feed("```python\nimport os, ")
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "```python\nimport os, "


def test_without_tools_everything_is_text() -> None:
    detector = OutputDetector([])
    assert detector.feed(f"<tool_call>{JSON_CALL}</tool_call>") != []
    assert detector.finish() == []
    assert detector.found is None


def test_a_tool_that_nobody_declared_is_not_called() -> None:
    text = '<tool_call>{"name": "rm", "arguments": {"path": "/"}}</tool_call>'
    detector, events = _read(text)
    assert _outcome(events)[:3] == (text, None, ())
    assert detector.found is None


FENCED = [
    f"```json\n{JSON_CALL}\n```",
    f"\n```\n[{JSON_CALL}]\n```\n",
    f"```xml\n<tool_call>\n{JSON_CALL}\n</tool_call>\n```",
    "```python\n[get_time(tz='CET')]\n```",
    "```python\nget_time(tz='CET')\n```",
    "```py\nprint(get_time(tz='CET'))\n```",
    '```\nAction: get_time\nAction Input: {"tz": "CET"}\n```',
    f"```json\n{JSON_CALL}",
]


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize("text", FENCED)
def test_a_fence_of_nothing_but_calls_is_calls_where_one_is_wanted(text: str, size: int) -> None:
    detector, events = _read(text, size, fences=True)
    found = join(events)
    assert [(call.name, json.loads(call.arguments)) for call in found.calls] == [("get_time", TIME)]
    assert found.content is None
    assert detector.found is not None


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize(
    "code",
    [
        "now = get_time(tz='CET')\nprint(now)",
        "import time\nget_time(tz='CET')",
        "get_time(tz=zone)",
        "get_time(tz='CET').hour",
        "for _ in range(3):\n    get_time(tz='CET')",
        "# the time\nget_time(tz='CET')",
        "print('hello')",
        "def get_time(tz='CET'):\n    return 5",
    ],
)
def test_a_program_that_calls_a_tool_is_text(code: str, size: int) -> None:
    text = f"```python\n{code}\n```"
    detector, events = _read(text, size, fences=True)
    assert detector.found is None
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == text


def test_a_fence_in_a_fence_is_text() -> None:
    detector = OutputDetector(TOOLS, fences=True)
    text = "```a\n" * 2000
    events = [event for line in text.splitlines(keepends=True) for event in detector.feed(line)]
    assert join([*events, *detector.finish()]).content == text


def test_the_arguments_of_a_call_in_a_fence_come_in_one_piece() -> None:
    detector = OutputDetector(TOOLS, fences=True)
    text = '```json\n{"name": "get_time", "arguments": {"tz": "' + "CET " * 500 + '"}}\n```'
    for char in text:
        detector.feed(char)
    assert len(detector.finish()) == 3


def test_several_fences_make_several_calls() -> None:
    fence = f"```json\n{JSON_CALL}\n```\n"
    _, events = _read(fence + "\n" + fence, 3, fences=True)
    assert [event.index for event in events if isinstance(event, CallStart)] == [0, 1]
    assert join(events).content is None


@pytest.mark.parametrize(
    ("text", "fences", "why"),
    [
        (f"```json\n{JSON_CALL}\n```", False, "none was demanded"),
        (f"```json\n{JSON_CALL}\n```\nThis would do.", True, "text stands beside"),
        (f"```json\n{JSON_CALL}\nand so on\n```", True, "other things than calls"),
        (f"Write:\n```\n<tool_call>{JSON_CALL}</tool_call>\n```", True, "mentioned, not made"),
        (f"Write `<tool_call>{JSON_CALL}</tool_call>`.", True, "mentioned, not made"),
    ],
)
@pytest.mark.parametrize("size", [0, 1])
def test_what_stays_text_has_a_reason(text: str, fences: bool, why: str, size: int) -> None:
    detector, events = _read(text, size, fences=fences)
    assert _outcome(events)[:3] == (text, None, ())
    assert why in detector.why


@pytest.mark.parametrize("flood", ["<tool_call>", "\n[a(", '<tool_call>{"name": "x', "Action: x\n"])
def test_a_flood_of_signs_is_given_up(flood: str) -> None:
    detector = OutputDetector(TOOLS)
    events = [*detector.feed(flood * 6_000), *detector.finish()]
    assert join(events).content == flood * 6_000
    assert "looked like calls" in detector.why


def test_a_call_behind_text_like_calls_is_found() -> None:
    text = '<tool_call>no</tool_call> [1] {"a": 1}\n[x](y)\n{"b": 2}\n<function=f> '
    detector, events = _read(f"{text}<tool_call>{JSON_CALL}</tool_call>", 4)
    assert detector.found is not None
    assert join(events).content == text


QUOTED = {
    "span": "See `{call}` there.\n\n",
    "fence": "So:\n\n```\n{call}\n```\n\n",
}
CALL = '<tool_call>{"name": "get_time", "arguments": {"tz": "CET"}}</tool_call>'


@pytest.mark.parametrize("size", [0, 4096])
@pytest.mark.parametrize("around", QUOTED.values(), ids=QUOTED)
def test_a_flood_of_mentions_is_given_up_too(
    monkeypatch: pytest.MonkeyPatch, around: str, size: int
) -> None:
    tried: list[str] = []

    class Counted(Trial):
        def __init__(self, record: Format, tools: tuple[ToolSpec, ...], sign: str) -> None:
            tried.append(record.name)
            super().__init__(record, tools, sign)

    monkeypatch.setattr("toolwire.formats.detection.detector.Trial", Counted)
    text = around.format(call=CALL) * 300
    detector, events = _read(text, size)
    assert _outcome(events)[:3] == (text, None, ())
    assert detector.over
    assert len(tried) < 40 * len(set(tried))


MENTIONS = {
    "span": "Write `{}` so.",
    "span of two": "Write ``{}`` so.",
    "span over lines": "Write `\n{}\n` so.",
    "quotes": 'Write "{}" so.',
    "curly quotes": "Write “{}” so.",
}
MENTIONABLE = sorted({"hermes", "mistral_v3", "deepseek_v31", "glm45", "qwen3_coder", "kimi_k3"})


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("around", MENTIONS.values(), ids=MENTIONS)
@pytest.mark.parametrize("name", MENTIONABLE)
def test_a_quoted_call_over_several_lines_is_a_mention(name: str, around: str, size: int) -> None:
    call = render_calls(name, [RenderedCall("get_time", TIME, provider_id(name, "get_time", 0))])
    text = around.format(call)
    detector, events = _read(text, size)
    assert (detector.found, _outcome(events)[:3]) == (None, (text, None, ()))


@pytest.mark.parametrize("size", [0, 1])
def test_a_fence_right_behind_a_fence_hides_its_call_too(size: int) -> None:
    fence = f"```json\n{JSON_CALL}\n```\n"
    text = f"{fence}{fence}or so."
    detector, events = _read(text, size)
    assert (detector.found, _outcome(events)[:3]) == (None, (text, None, ()))


@pytest.mark.parametrize("fences", [True, False])
@pytest.mark.parametrize("size", [0, 64])
def test_an_answer_of_too_many_code_fences_is_text(size: int, fences: bool) -> None:
    text = '```json\n{"name": "get_time", "arguments": {"tz": "CET"}}\n```\n' * 40
    detector, events = _read(text, size, fences=fences)
    assert _outcome(events)[:3] == (text, None, ())
    assert detector.why == "there are too many code fences"


def test_lines_of_tags_do_not_hide_a_call_but_a_flood_of_them_costs_little() -> None:
    call = "\n<get_time>\n<tz>CET</tz>\n</get_time>"
    detector, events = _read("<p>" + "\n<li>one" * 150 + call, 9)
    assert [json.loads(c.arguments) for c in join(events).calls] == [TIME]
    detector, events = _read("<p>" + "\n<li>one" * 250 + call, 9)
    assert detector.found is None
    detector, events = _read("<p>" + "\n<li>one" * 250 + "\n" + _written("hermes"), 9)
    assert len(join(events).calls) == 2


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize(
    "inside",
    ["<tz>CET</tz>", "\n<tz>\nCET\n</tz>\n", '{"tz": "CET"}', '\n{\n  "tz": "CET"\n}\n',
     '{ "tz": "CET"}'],
)  # fmt: skip
def test_a_tag_behind_text_is_a_call_with_a_parameter_of_the_tool(inside: str, size: int) -> None:
    _, events = _read(f"Let me look.\n<get_time>{inside}</get_time>", size)
    found = join(events)
    assert [json.loads(call.arguments) for call in found.calls] == [TIME]
    assert (found.content or "").strip() == "Let me look."


def test_a_tool_that_is_named_like_a_marker_takes_over_no_other_call() -> None:
    tools = [*TOOLS, ToolSpec("tool_call", None, {"type": "object"})]
    detector = OutputDetector(tools)
    text = 'Hi\n<tool_call>\n{"name": "get_time", "arguments": {"tz": "CET"}}\n</tool_call>'
    found = join([*detector.feed(text), *detector.finish()])
    assert [(call.name, json.loads(call.arguments)) for call in found.calls] == [("get_time", TIME)]
