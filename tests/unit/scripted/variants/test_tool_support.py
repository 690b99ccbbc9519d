"""Each variant of what a server can do about tools is odd in the stated way, and `std` is not."""

import json
from typing import Any

import pytest
from tests.scripted.play import names_in, play_stream, play_whole
from tests.scripted.variants import tool_support

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
SCHEMA = {"type": "object", "properties": {"a": {"const": 7}}, "required": ["a"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
CONSTRAINTS: list[dict[str, Any]] = [
    {"response_format": FORMAT},
    {"structured_outputs": {"json": SCHEMA}},
    {"json_schema": SCHEMA},
]


def text(variant: str, script: Any = "echo", **body: Any) -> str:
    message = json.loads(play_whole(variant, script, **body).body)["choices"][0]["message"]
    return str(message["content"])


def test_every_variant_of_tool_support_is_described_here() -> None:
    described = {"refuses_tools", "refuses_schema", "ignores_tools", "obeys_schema"}
    assert names_in(tool_support) == described | {"only_completions", "small_window"}


def test_a_small_window_refuses_an_answer_that_does_not_fit_beside_its_prompt() -> None:
    assert play_whole("small_window:1000", "echo", max_tokens=900).status == 200
    refused = play_whole("small_window:1000", "echo", max_tokens=990)
    assert refused.status == 400
    assert b"maximum context length is 1000 tokens" in refused.body


@pytest.mark.parametrize(
    ("variant", "body"),
    [("refuses_tools", {"tools": TOOLS}), *(("refuses_schema", body) for body in CONSTRAINTS)],
)
def test_what_is_refused_is_refused_whole_or_streamed_and_nothing_else_is(
    variant: str, body: dict[str, Any]
) -> None:
    for play in (play_whole, play_stream):
        refused = play(variant, "echo", **body)
        assert refused.status == 400
        assert json.loads(refused.body)["error"]["param"] == next(iter(body))
        assert play(variant, "echo").status == 200
        assert play("std", "echo", **body).status == 200


def test_tools_that_are_ignored_are_not_seen_by_the_model() -> None:
    demand = {"tools": TOOLS, "tool_choice": "required"}
    assert text("ignores_tools", "file_task", **demand) == "Hello file task"
    assert text("std", "file_task", **demand) == "None"


@pytest.mark.parametrize("body", CONSTRAINTS)
def test_a_schema_is_obeyed(body: dict[str, Any]) -> None:
    assert text("obeys_schema", **body) == '{"a": 7}'
    assert text("obeys_schema") == text("std", **body) == "Go on."
