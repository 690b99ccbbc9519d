"""An answer of a model whose format is unknown: its client sees no marker around the text."""

import json
from functools import partial
from importlib.resources import files

import pytest

from toolwire.formats import (
    Detection,
    OutputDetector,
    Parser,
    RenderedCall,
    get,
    join,
    names,
    provider_id,
    render_calls,
)
from toolwire.formats.detection.announced_prose import AnnouncedProse
from toolwire.formats.detection.announcements import AnswerBeginning
from toolwire.formats.detection.detecting_reader import DetectingReader
from toolwire.formats.prose import prose_parser
from toolwire.protocol.events import Event, TextDelta
from toolwire.protocol.tools import ToolSpec

_CASES = files("toolwire.conformance") / "cases"
TOOLS = tuple(
    ToolSpec(tool["name"], None, tool["parameters"])
    for tool in json.loads((_CASES / "_tools.json").read_text("utf-8"))
)
SIZES = (0, 1, 4)
SEEN = list[Detection | None]


def reader_of(settled: SEEN | None = None, expected: str = "hermes") -> DetectingReader:
    record, make = get(expected), partial(Parser, tools=TOOLS)
    found = settled if settled is not None else []
    opening = AnswerBeginning(record, make)
    return DetectingReader(make(record), OutputDetector(TOOLS), found.append, None, opening)


def read(
    text: str, size: int, settled: SEEN | None = None, expected: str = "hermes"
) -> list[Event]:
    reader, step = reader_of(settled, expected), size or len(text)
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    return [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish()]


def outcome(events: list[Event]) -> tuple[str, str, list[tuple[str, str]]]:
    """The text, the reasoning and the calls, without the layout around them."""
    found = join(events)
    calls = [(call.name, call.arguments) for call in found.calls]
    return (found.content or "").strip(), (found.reasoning or "").strip(), calls


def as_written_by(name: str, text: str) -> tuple[str, str, list[tuple[str, str]]]:
    """What a client gets if the format is known."""
    parser = Parser(get(name), TOOLS)
    return outcome([*parser.feed(text), *parser.finish()])


def call_of(name: str) -> str:
    wire_id = provider_id(name, "get_time", 0)
    return render_calls(name, [RenderedCall("get_time", {"tz": "CET"}, wire_id)])


AROUND = {
    "apertus": ("<|inner_prefix|>{}<|inner_suffix|>", "{}"),
    "cohere_command3": (
        "<|START_THINKING|>{}<|END_THINKING|>",
        "<|START_RESPONSE|>{}<|END_RESPONSE|>",
    ),
    "cohere_command4": ("<|START_THINKING|>{}<|END_THINKING|>", "<|START_TEXT|>{}<|END_TEXT|>"),
    "gemma4": ("<|channel>thought\n{}\n<channel|>", "{}"),
    "hy_v3": ("<think:opensource>{}</think:opensource>", "{}"),
    "k2_horizon": ("<ifm|think>{}</ifm|think>", "{}"),
    "kimi_k3": (
        "<|open|>think<|sep|>{}<|close|>think<|sep|>",
        "<|open|>response<|sep|>{}<|close|>response<|sep|>",
    ),
    "minimax_m3": ("<mm:think>{}</mm:think>", "{}"),
    "mistral": ("[THINK]{}[/THINK]", "{}"),
    "mistral_v7": ("[THINK]{}[/THINK]", "{}"),
    "muse_glimmer": (
        " to=self<|message|>{}<|eom|>",
        "<|start|>assistant to=user<|message|>{}<|eom|>",
    ),
    "openai": (
        "<|channel|>analysis<|message|>{}<|end|>",
        "<|start|>assistant<|channel|>commentary<|message|>{}<|end|>",
    ),
    "plamo3": ("<|plamo:begin_think:plamo|>{}<|plamo:end_think:plamo|>", "{}"),
    "seed_oss": ("<seed:think>{}</seed:think>", "{}"),
    "solar_open": ("<|think|>{}<|end|>", "<|begin|>assistant<|content|>{}<|end|>"),
}
"""How formats mark reasoning and text."""
SHAPES = {
    "text": "{text}",
    "text and call": "{text}{call}",
    "reasoning and text": "{thought}{text}",
    "reasoning and call": "{thought}{call}",
    "all": "{thought}{text}{call}",
    "a draft in reasoning": "{draft}{text}",
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", AROUND)
def test_markers_around_text_and_reasoning_are_not_shown(name: str, shape: str, size: int) -> None:
    thought, text = AROUND[name]
    answer = shape.format(
        thought=thought.format("I need `get_time`.\nSo be it."),
        text=text.format("Let me look, 5 < 6.\n"),
        call=call_of(name),
        draft=thought.format(f"Maybe {call_of(name)} or not."),
    )
    if "draft" in shape and name in ("muse_glimmer", "openai"):
        return  # their messages do not nest
    assert outcome(read(answer, size)) == as_written_by(name, answer)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", ["{text}", "{thought}{text}"])
@pytest.mark.parametrize("name", AROUND)
def test_without_calls_an_answer_is_read_in_the_format_that_it_announces(
    name: str, shape: str, size: int
) -> None:
    thought, text = AROUND[name]
    answer = shape.format(thought=thought.format("I look."), text=text.format("So 5 < 6."))
    found: list[Detection] = []
    reader = AnnouncedProse(lambda record: prose_parser(record.name), found.append)
    step = size or len(answer)
    pieces = [answer[at : at + step] for at in range(0, len(answer), step)]
    events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish()]
    assert outcome(events) == as_written_by(name, answer)
    assert reader.plain == (not found)
    assert bool(found) == (answer[0] in "<[ ")


@pytest.mark.parametrize("expected", ["openai", "beam", "muse_glimmer", "cohere_command3"])
def test_the_beginning_of_a_message_is_no_news_where_its_format_is_expected(expected: str) -> None:
    beginning = AnswerBeginning(get(expected), lambda record: record.name)
    assert beginning.feed(AROUND.get(expected, AROUND["openai"])[0].format("Hm."))
    assert beginning.announced is None


def test_the_format_that_an_answer_announces_is_that_of_its_calls() -> None:
    settled: SEEN = []
    read(f"[THINK]Hm.[/THINK]{call_of('mistral')}", 4, settled)
    assert settled == [Detection("mistral", "the answer begins with '[THINK]'")]


@pytest.mark.parametrize("size", SIZES)
def test_calls_in_another_format_than_the_announced_one_are_found(size: int) -> None:
    settled: SEEN = []
    events = read(f"[THINK]Hm.[/THINK]Let me look.{call_of('hermes')}", size, settled)
    assert outcome(events) == ("Let me look.", "Hm.", [("get_time", '{"tz": "CET"}')])
    assert [found.format for found in settled if found] == ["hermes"]


@pytest.mark.parametrize("size", SIZES)
def test_the_markers_of_the_expected_format_announce_nothing(size: int) -> None:
    settled: SEEN = []
    text = "<|START_TEXT|>Let me look.<|END_TEXT|>" + call_of("cohere_command4")
    read(text, size, settled, expected="cohere_command4")
    assert settled == [None]


PROSE = (
    "The marker <|START_THINKING|> begins reasoning, and <|END_THINKING|> ends it.",
    "`[THINK]` is a token.",
    '"[THINK]" is a token.',
    "```\n<|channel>thought\nx<channel|>\n```\nis how Gemma thinks.",
    "<thinking>I was asked for these tags.</thinking>Yes.",
    "<response>I was asked for these tags.</response>",
    "<answer>42</answer>",
    "Here is my thought process:\nI count.\n\nHere is my response:\n42",
    "Here are my reasoning steps:\nI count.",
    "[THINKING] is no token, and [TODO] neither.",
    "all\nof them",
    "<|",
    "<|START_THINK",
    "  \n",
    "\n" * 80 + "[THINK]late",
    "The token that ends a turn is <|im_end|>",
    "A turn ends with `<|im_end|>`",
    "`Hi`<|im_end|> and more",
    "First<|im_end|>\n<|im_start|>assistant\nSecond",
    "<s>old</s>",
    "So:\n```\n<|im_start|>user\nHi<|im_end|>",
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("text", PROSE)
def test_what_may_be_meant_as_text_is_text(text: str, size: int) -> None:
    events = read(text, size)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text


ENDS = ("<|im_end|>", "<|eot_id|>", "</s>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "<|return|>")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("behind", ["", "\n", "<|endoftext|>", "\n<|endoftext|>\n"])
@pytest.mark.parametrize("text", ["Hello.", "See:\n```\nx < 1\n```", "One.\n", "`<|im_end|>`"])
@pytest.mark.parametrize("end", ENDS)
def test_a_token_that_ends_the_turn_is_not_shown(
    end: str, text: str, behind: str, size: int
) -> None:
    assert join(read(text + end + behind, size)).content == text


MARKERS = (
    "use <think> tags, then </think>",
    'a <tool_call>{"name": "get_time", "arguments": {"tz": "CET"}}</tool_call> b',
    "x<|im_end|>",
)


@pytest.mark.parametrize("size", [0, 1, 50])
@pytest.mark.parametrize("name", names())
def test_markers_in_arguments_are_arguments(name: str, size: int) -> None:
    for content in MARKERS:
        arguments = {"path": "a", "content": content}
        wire_id = provider_id(name, "write_file", 0)
        text = render_calls(name, [RenderedCall("write_file", arguments, wire_id)])
        assert outcome(read(text, size)) == as_written_by(name, text)


@pytest.mark.parametrize("size", [0, 1, 50])
def test_calls_in_two_formats_have_one_numbering(size: int) -> None:
    mistral, hermes = call_of("mistral"), call_of("hermes")
    assert outcome(read(f"{mistral}\n{hermes}", size)) == as_written_by("mistral", mistral + hermes)
    assert outcome(read(f"{hermes}\n{mistral}", size)) == as_written_by("hermes", hermes + mistral)


def test_a_flood_of_markers_is_read() -> None:
    text = "<tool_call>x " * 3_000
    assert join(read(text, 0)).content == text


def test_a_beginning_is_held_no_longer_than_a_marker() -> None:
    reader, text = reader_of(), "<|START_THINGS are not all <|im_ends are they"
    given = 0
    for fed, char in enumerate(text, 1):
        given += sum(len(e.text) for e in reader.feed(char) if isinstance(e, TextDelta))
        assert fed - given <= 32, text[:fed]
        assert reader.idle == (fed == given)


UNMARKED = ("cline_xml", "functionary_v32", "glm4_0414", "trinity")
"""Formats whose calls begin with a tool's name, or count in reasoning anyway."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [name for name in names() if name not in UNMARKED])
def test_a_call_at_the_end_of_unclosed_reasoning_is_made(name: str, size: int) -> None:
    settled: SEEN = []
    _, reasoning, calls = outcome(read(f"<think>\nI will look.\n{call_of(name)}", size, settled))
    assert calls == [("get_time", '{"tz": "CET"}')]
    assert reasoning.startswith("I will look.")
    assert len(settled) == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["llama3_json", "pythonic", "cline_xml", "react", "xlam"])
def test_a_call_behind_reasoning_that_the_prompt_opened_is_made(name: str, size: int) -> None:
    """It begins a line, although the end of the reasoning before it is not shown."""
    said, _, calls = outcome(read(f"I will look.\n</think>\n\n{call_of(name)}", size))
    assert calls == [("get_time", '{"tz": "CET"}')]
    assert said == "I will look."


DRAFTS = {
    "closed": "<think>\nMaybe {call}</think>",
    "closed before text": "<think>\nMaybe {call}</think>No need.",
    "with more reasoning": "<think>\nMaybe {call} would do.",
    "cut off": "<think>\nMaybe {half}",
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", DRAFTS.values(), ids=DRAFTS)
@pytest.mark.parametrize("name", ["mistral", "qwen3_coder", "llama3_json", "kimi_k2", "glm47"])
def test_a_draft_of_another_format_in_reasoning_is_not_made(
    name: str, shape: str, size: int
) -> None:
    call = call_of(name)
    half = call[: call.index("CET") + 1]
    _, reasoning, calls = outcome(read(shape.format(call=call, half=half), size))
    assert not calls
    assert half.strip() in reasoning


@pytest.mark.parametrize("size", SIZES)
def test_a_draft_does_not_hide_the_call_that_reasoning_ends_with(size: int) -> None:
    draft, call = call_of("mistral").replace("CET", "UTC"), call_of("mistral")
    found = outcome(read(f"<think>\nFirst {draft}, no.\nBetter: {call}", size))
    assert found[2] == [("get_time", '{"tz": "CET"}')]
