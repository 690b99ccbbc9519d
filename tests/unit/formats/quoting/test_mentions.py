"""Markdown and quotation marks: what they hide, and what they only seem to hide."""

import pytest

from toolwire.formats import Trace, extract, parser_for
from toolwire.formats.event_sink import EventSink
from toolwire.formats.quoting.mentions import Lookahead, Mentions
from toolwire.formats.quoting.quotes import Quotes
from toolwire.formats.reader import Need, Reader
from toolwire.protocol.events import CallStart, TextDelta
from toolwire.protocol.tools import ToolSpec

TOOLS = [ToolSpec("run", None, {"properties": {"code": {"type": "string"}}})]
CALL = '<tool_call>{"name": "run", "arguments": {"code": "`ls`"}}</tool_call>'
TAGS = "<tool_call>\n<function=run>\n<parameter=code>\n`ls`\n</parameter>\n</function></tool_call>"


@pytest.mark.parametrize(
    "text",
    [
        "A ` and ",
        "A ``` and ",
        "```py\nx\n```\n",
        "```py\nx\n",
        "``` ",
        "~ `a` `b ",
        'He said "so ',
        "A ` and\n\n",
        "> ```sh\n> ls\n> ```\n",
        "```\n> ```\nls\n```\n",
        "~~~py\nx\n~~~\n",
        "~~~py\nx\n",
        "~~~\nx\n```\n",
        "```\nx\n~~~\n",
        "~~~~\nx\n~~~\n",
        "~~ and ~~~ and ~~~ ",
        "„ok“ and “yes” and ",
        "»ok« and ",
        "“so ",
    ],
)
@pytest.mark.parametrize(("name", "call"), [("hermes", CALL), ("qwen3_coder", TAGS)])
def test_a_call_behind_markdown_is_made_though_it_has_backticks(
    text: str, name: str, call: str
) -> None:
    found = extract(name, text + call, TOOLS)
    assert (found.content, len(found.calls)) == (text, 1)


@pytest.mark.parametrize(
    "text",
    [
        "`{}`",
        "``{}``",
        "```{}```",
        "a ```\n{}\n``` b",
        "```xml\n{}\n```",
        "  ````\n```\n{}\n```\n````\n",
        "~~~xml\n{}\n~~~",
        "~~~\n{}\n~~~~ \n",
        "~~~ a ``` b ~~~\n{}\n~~~\n",
        "  ~~~~\n~~~\n{}\n~~~\n~~~~\n",
        "~~~\n```\n{}\n```\n~~~\n",
        "```\n~~~\n{}\n~~~\n```\n",
        "a ` b\n~~~\n{}\n~~~\n",
        "> - ~~~\n>   {}\n>   ~~~\n",
        "` \n{}\n`",
        '"{}"',
        'Say "now {} now".',
        "«{}»",
        "a `b` c `d\n{}` e",
        "> ```\n> {}\n> ```\nDone.",
        ">```xml\n>{}\n>```\nDone.",
        "1. > - ```\n   > {}\n   > ```\n",
        "Say “now {} now”.",
        "Say « {} ».",
        "Say „now {}“.",
        "Say »{}«.",
        "Say ‹{}›.",
    ],
)
def test_a_call_that_is_closed_in_quotes_is_mentioned(text: str) -> None:
    call = CALL.replace("`", "")
    whole = text.replace("{}", call)
    found = extract("hermes", whole, TOOLS)
    assert (found.content, found.calls) == (whole, [])


def test_half_a_call_in_a_span_hides_nothing_behind_it() -> None:
    text = "Begin with `<tool_call>\\n<function=run><parameter=code>` so.\n"
    found = extract("qwen3_coder", text + TAGS, TOOLS)
    assert (found.content, len(found.calls)) == (text, 1)


def test_an_end_token_never_stands_in_markdown() -> None:
    for text in ("A ` tick", "```py\nx = 1\n", "``"):
        found = extract("cohere_command3", f"<|START_RESPONSE|>{text}<|END_RESPONSE|>")
        assert found.content == text
        found = extract("openai", f"<|channel|>final<|message|>{text}<|return|>")
        assert found.content == text


@pytest.mark.parametrize("between", ["", "\n", "and\n"])
@pytest.mark.parametrize("info", ["", "xml"])
def test_a_fence_right_behind_a_fence_hides_its_call_too(info: str, between: str) -> None:
    fence = f"```{info}\n{CALL}\n```\n"
    text = f"So:\n{fence}{between}{fence}or so."
    found = extract("hermes", text, TOOLS)
    assert (found.content, found.calls) == (text, [])


def test_text_goes_on_behind_a_fence_that_is_closed() -> None:
    parser = parser_for("hermes", TOOLS)
    parser.feed(f"```\n{CALL}\n```\n")
    assert parser.feed("So it is.") == [TextDelta("So it is.")]


def test_a_call_in_a_fence_waits_for_the_end_of_the_fence_or_the_turn() -> None:
    parser = parser_for("hermes", TOOLS)
    events = parser.feed(f"```\n{CALL}\nand more")
    assert events == [TextDelta("```\n")]
    assert any(isinstance(event, CallStart) for event in parser.finish())


def test_code_in_a_fence_that_is_no_call_is_not_held() -> None:
    parser = parser_for("pythonic", TOOLS)
    parser.feed("Look:\n```py\n")
    assert parser.feed("x = [print(a=1)] + y\n") == [TextDelta("x = [print(a=1)] + y\n")]


def test_the_trace_says_that_a_call_is_quoted() -> None:
    trace = Trace()
    extract("hermes", f"So: `{CALL.replace('`', '')}`.", TOOLS, trace=trace)
    assert [span.why for span in trace.spans if span.why] == ["quoted in backticks"]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "text",
    [
        "a `b ``c\n\n```` x\n```\n````\n  ```py\ncode\n``` \n d \\`e `f",
        "abcd\\`x` a b``` c",
    ],
)
def test_markdown_may_come_in_pieces(text: str, size: int) -> None:
    text += "\n~~~~ `x ~\n~~~\n```\n~~~~~ \n ~~g~~~\n```~~~\n~~~\n```\n~~~h"
    whole, cut = Quotes(), Quotes()
    for end in range(0, len(text), size):
        cut.see(text[end : end + size])
        whole = Quotes()
        whole.see(text[: end + size])
        here = cut.copy()
        assert (here.open(), here.fenced, here.spans) == (
            whole.open(),
            whole.fenced,
            whole.spans,
        ), text[: end + size]


@pytest.mark.parametrize(("distance", "calls"), [(0, 0), (900, 0), (1100, 1), (5000, 1)])
@pytest.mark.parametrize("mark", ['"', "`"])
@pytest.mark.parametrize("piece", [1, 700, 1100, 1 << 20])
def test_the_closing_mark_is_looked_for_in_the_next_thousand_characters(
    mark: str, distance: int, calls: int, piece: int
) -> None:
    call = CALL.replace("`", "")
    text = f"Say {mark}{call}{' word' * (distance // 5)}{mark} so."
    parser = parser_for("hermes", TOOLS)
    events = [e for at in range(0, len(text), piece) for e in parser.feed(text[at : at + piece])]
    assert sum(type(event) is CallStart for event in [*events, *parser.finish()]) == calls


FILE = "<tool_call>\n<function=run>\n<parameter=code>\n```py\n1\n```\n</parameter>\n</function>"


@pytest.mark.parametrize("fence", ["```", "~~~"])
@pytest.mark.parametrize("inner", ["```", "~~~"])
@pytest.mark.parametrize("more", ["", "\n```\nls\n```\n"])
def test_a_fence_is_closed_behind_a_mention_that_has_fences(
    more: str, inner: str, fence: str
) -> None:
    file = FILE.replace("```", inner)
    text = f"So:\n{fence}\n{file}\n</tool_call>\n{fence}\nNow:\n"
    found = extract("qwen3_coder", text + TAGS + more, TOOLS)
    assert (found.content, len(found.calls)) == (text + more, 1)


@pytest.mark.parametrize("front", ["", "~~~\n", "```\n"])
def test_tildes_of_a_call_are_its_own(front: str) -> None:
    file = FILE.replace("```", "~~~") + "\n</tool_call>"
    found = extract("qwen3_coder", front + file, TOOLS)
    assert (found.content or "") == front
    assert [call.arguments for call in found.calls] == ['{"code": "~~~py\\n1\\n~~~"}']


def test_a_call_quoted_between_tildes_is_not_detected_either() -> None:
    call = CALL.replace("`", "")
    for text in (f"~~~xml\n{call}\n~~~\n", f"So:\n\n~~~\n{call}\n~~~\nor so"):
        found = extract("auto", text, TOOLS)
        assert (found.content, found.calls) == (text, [])


def test_only_a_few_times_is_the_end_of_half_a_call_looked_for() -> None:
    begun = "So:\n```\n<tool_call>\n<function=run>\n<parameter=code>\n```\nGo on"
    parser = parser_for("qwen3_coder", TOOLS)
    for _ in range(4):
        assert parser.feed(begun) == [TextDelta("So:\n```\n")]
        assert parser.feed(" " * 16 * 1024) != []
    assert "Go on" in "".join(e.text for e in parser.feed(begun) if isinstance(e, TextDelta))


@pytest.mark.parametrize("opened", ["```\n", "A `", 'Say "'])
def test_a_call_is_not_held_for_ever_because_it_may_be_quoted(opened: str) -> None:
    parser = parser_for("hermes", TOOLS)
    events = parser.feed(f'{opened}<tool_call>{{"name": "run", "arguments": {{"code": "')
    assert not any(isinstance(event, CallStart) for event in events)
    for _ in range(200):
        events += parser.feed("word " * 200)
    assert any(isinstance(event, CallStart) for event in events)


def call_of_ten(reader: Reader, sink: EventSink) -> Need[bool]:
    """Read ten characters as a call."""
    while len(reader.buf) < 10:
        yield
    reader.pos += 10
    sink.start("run")
    sink.end()
    return True


def test_text_behind_a_call_is_not_gathered() -> None:
    lookahead = Lookahead(call_of_ten)
    for _ in range(1000):
        lookahead.feed("some words\n")
    assert lookahead.made == 10
    assert 1024 <= len(lookahead.reader.buf) < 2048


class Endless:
    """Reads everything as a call, and counts it."""

    read = 0

    def __call__(self, reader: Reader, sink: EventSink) -> Need[bool]:
        sink.start("run")
        while not reader.final:
            reader.pos = len(reader.buf)
            yield
        reader.pos = len(reader.buf)
        self.read += reader.offset
        sink.end()
        return True


@pytest.mark.parametrize("opened", ['"', "`", "`\n", "```x "])
@pytest.mark.parametrize("many", [100, 10_000])
def test_what_may_be_quoted_is_looked_at_about_once(opened: str, many: int) -> None:
    marker, reader, quotes, start = "<tool_call>", Reader(), Quotes(), Endless()
    reader.add((opened + marker) * many)
    reader.final = True
    mentions = Mentions(reader, quotes)
    for _ in range(many):
        for size in (len(opened), len(marker)):
            quotes.see(reader.buf[reader.pos : reader.pos + size])
            reader.pos += size
            if size == len(opened) and quotes.open():
                for _ in mentions.quoted(len(marker), start):
                    raise AssertionError("all of the text is there")
    assert 0 < start.read <= 5 * len(reader.buf) + 64 * 1024
