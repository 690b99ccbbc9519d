import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolwire.cli import main
from toolwire.formats import names

CALL = '<tool_call>\n{"name": "get_time", "arguments": {"tz": "CET", "n": 1e-7}}\n</tool_call>'
TEXT = f"<think>hm</think>Sure.\n{CALL}\nUse `<tool_call>` so."


def parse(text: str | bytes, *words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, ["parse", *words], input=text)


def facts(text: str, *words: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(parse(text, "--json", *words).stdout)
    return found


def test_content_reasoning_and_calls_are_printed() -> None:
    output = parse(TEXT, "--format", "hermes").stdout
    assert 'content    "Sure.\\n\\nUse `<tool_call>` so."' in output
    assert 'reasoning  "hm"' in output
    assert '{"tz": "CET", "n": 1e-7}' in output


def test_the_trace_says_what_was_taken_for_what_and_why_not() -> None:
    found = facts(TEXT, "--format", "hermes")
    trace = found["trace"]
    assert isinstance(trace, list)
    assert "".join(span["text"] for span in trace) == TEXT
    assert [span["kind"] for span in trace if CALL in span["text"]] == ["call"]
    assert [span["why"] for span in trace if span["text"] == "<tool_call>"] == [
        "quoted in backticks"
    ]


def test_the_trace_is_shown_without_json_too() -> None:
    output = parse(TEXT, "--format", "hermes").stdout
    assert "how each span was read" in output
    assert "quoted in backticks" in output


def test_json_holds_the_same() -> None:
    found = facts(TEXT, "--format", "hermes")
    assert found["content"] == "Sure.\n\nUse `<tool_call>` so."
    assert found["reasoning"] == "hm"
    arguments = {"tz": "CET", "n": 1e-7}
    assert found["calls"] == [{"name": "get_time", "arguments": arguments, "id": None}]


@pytest.mark.parametrize(
    ("around", "why"),
    [
        ("Sure:\n{}", "a call that is quoted is mentioned, not made"),
        ("{}\nDone.", "text stands beside the code fence that holds the call"),
        ("{}", "a call in a code fence where none was demanded"),
    ],
)
@pytest.mark.parametrize("name", ["auto", "hermes"])
def test_a_call_in_a_fence_that_stays_text_has_a_reason(
    name: str, around: str, why: str, tmp_path: Path
) -> None:
    found = fenced(tmp_path, name, around)
    if (name, around) == ("auto", "{}"):  # the model's own format is unknown
        assert found["chosen"] == "the answer is nothing but calls"
        assert found["calls"] == [{"name": "f", "arguments": {}, "id": None}]
        return
    trace = found["trace"]
    assert isinstance(trace, list)
    assert [(span["kind"], span["why"]) for span in trace] == [("text", why)]


def fenced(folder: Path, name: str, around: str) -> dict[str, object]:
    """The facts of a text with a call of a tool in a code fence."""
    tools = folder / "tools.json"
    tools.write_text('[{"type": "function", "function": {"name": "f"}}]')
    text = around.format('```json\n{"name": "f", "arguments": {}}\n```')
    return facts(text, "--format", name, "--tools", str(tools))


def test_a_format_is_found_by_what_was_written() -> None:
    found = facts('[TOOL_CALLS]get_time[ARGS]{"tz": "CET"}')
    assert str(found["format"]).startswith("mistral")
    assert "get_time" in str(found["chosen"])


def test_a_text_without_a_call_is_content_and_no_format_is_guessed() -> None:
    found = facts("<think>hm</think>Hello")
    assert (found["content"], found["reasoning"], found["calls"]) == ("Hello", "hm", [])
    assert found["format"] is None
    assert found["chosen"] == f"no call found in {len(names())} formats"
    assert "format     none  (no call found in " in parse("Hello").stdout


def test_a_text_without_a_call_is_read_in_the_format_that_it_begins_with() -> None:
    found = facts("<|channel|>analysis<|message|>Hm.<|end|>")
    assert (found["format"], found["chosen"]) == ("openai", "the answer begins so")
    assert (found["content"], found["reasoning"]) == (None, "Hm.")


def test_the_text_may_be_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    path.write_text(CALL)
    assert json.loads(parse("", "--json", str(path)).stdout)["calls"][0]["name"] == "get_time"
    missing = parse("", str(tmp_path / "nothing.txt"))
    assert missing.exit_code == 2
    assert "cannot read" in missing.output


def test_nothing_is_cut_off_in_a_pipe() -> None:
    long = "lorem ipsum " * 500
    call = f'<tool_call>{{"name": "f", "arguments": {{"x": "{long}"}}}}</tool_call>'
    result = CliRunner(env={"COLUMNS": "40"}).invoke(main, ["parse"], input=call)
    arguments, span = [line for line in result.stdout.splitlines() if long in line]
    assert arguments.strip() == json.dumps({"x": long})
    assert span.endswith(json.dumps(call))


def test_another_format_that_would_read_a_call_is_named() -> None:
    result = parse('[TOOL_CALLS]get_time[ARGS]{"tz": "CET"}', "--format", "hermes")
    assert "try --format mistral" in result.stderr
    assert result.exit_code == 0


def test_an_alias_is_a_name() -> None:
    assert facts(CALL, "--format", "qwen25")["format"] == "hermes"


def test_a_stream_shows_what_each_piece_makes_certain() -> None:
    events = facts(TEXT, "--format", "hermes", "--stream", "10")["events"]
    assert isinstance(events, list)
    kinds = [event["event"] for event in events]
    assert kinds.index("ReasoningDelta") < kinds.index("CallStart") < kinds.index("CallEnd")
    text = "".join(event["text"] for event in events if event["event"] == "TextDelta")
    assert text == "Sure.\n\nUse `<tool_call>` so."
    assert "CallStart" in parse(TEXT, "--format", "hermes", "--stream", "3").stdout


def test_text_that_looks_like_markup_is_printed_as_it_is() -> None:
    assert "[bold]x[/bold]" in parse("[bold]x[/bold]", "--format", "hermes").stdout


TOOL = {
    "name": "get_time",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
}
TAGGED = "<function=get_time>\n<parameter=n>\n5\n</parameter>\n</function>"


@pytest.mark.parametrize(
    "tools",
    [[TOOL], [{"type": "function", "function": TOOL}], {"model": "x", "tools": [TOOL]}],
    ids=["functions", "tools", "a request"],
)
def test_tools_give_types_however_they_are_written(tmp_path: Path, tools: object) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(tools))
    found = facts(TAGGED, "--format", "qwen3_coder", "--tools", str(path))
    assert found["calls"] == [{"name": "get_time", "arguments": {"n": 5}, "id": None}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("5", "it is not a list of tools"),
        ("[5]", "tool 0 has no name"),
        ('[{"type": "function"}]', "tool 0 has no name"),
        ('[{"name": "f", "parameters": "x"}]', "the parameters of f are not a schema"),
    ],
)
def test_a_file_of_tools_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "tools.json"
    path.write_text(content)
    refused(parse("x", "--tools", str(path)), message, str(path))


def refused(result: Result, *messages: str) -> None:
    assert result.exit_code == 2
    assert all(message in result.stderr for message in messages)
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_format_that_is_misspelt_is_refused_with_the_right_one() -> None:
    refused(parse("x", "--format", "hermse"), "no format is called 'hermse'. Did you mean hermes?")
    refused(parse("x", "--format", "zzzzzz"), "`toolwire formats` lists them")


def test_nothing_to_parse_is_refused() -> None:
    refused(parse("", "--format", "hermes"), "standard input is empty")


def test_what_is_not_text_is_refused() -> None:
    refused(parse(b"\xff\xfe\x00", "--format", "hermes"), "not UTF-8")


def test_a_file_of_tools_that_is_not_there_is_refused() -> None:
    refused(parse("x", "--tools", "/no/such.json"), "/no/such.json", "No such file")


def test_a_number_of_any_length_is_printed() -> None:
    digits = "7" * 5000
    text = f'<tool_call>{{"name": "f", "arguments": {{"n": {digits}}}}}</tool_call>'
    assert digits in parse(text, "--format", "hermes", "--json").stdout
