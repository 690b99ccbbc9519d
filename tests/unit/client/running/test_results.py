"""What a tool returns or raises, as the model reads it."""

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

import pydantic
import pytest

from toolwire.client import Image, InvalidArguments, ToolError
from toolwire.client.running.results import image_message, raised, result_of, tool_message


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Model(pydantic.BaseModel):
    name: str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (None, "null"),
        (5, "5"),
        ({"a": [1, 2]}, '{"a":[1,2]}'),
        (Point(1, 2), '{"x":1,"y":2}'),
        ([Model(name="a")], '[{"name":"a"}]'),
        (datetime.date(2026, 1, 2), '"2026-01-02"'),
        (Path("/a"), '"/a"'),
        ("", ""),
    ],
)
def test_a_value_is_text_or_json(value: Any, text: str) -> None:
    assert result_of(value, 1000).text == text


def test_a_value_that_is_no_json_is_an_error() -> None:
    result = result_of(object(), 1000)
    assert result.is_error
    assert "object objects cannot be written as JSON" in result.text


def test_a_long_result_is_cut_and_says_so() -> None:
    text = result_of("x" * 5000, 100).text
    assert text == "x" * 100 + "\n[cut: these are the first 100 of 5000 characters]"


def test_an_exception_is_its_type_and_message_and_no_traceback() -> None:
    try:
        secret = "hunter2"
        raise ValueError("no such city")
    except ValueError as error:
        result = raised(error, 1000)
    assert result.is_error
    assert result.text == "Error: ValueError: no such city"
    assert secret not in result.text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("Ask for another city."), "Error: Ask for another city."),
        (KeyError("pen"), "Error: KeyError: no such key: 'pen'"),
        (ZeroDivisionError(), "Error: ZeroDivisionError"),
        (SystemExit(1), "Error: SystemExit: 1"),
    ],
)
def test_errors_are_short_and_clear(error: BaseException, text: str) -> None:
    assert raised(error, 1000).text == text


def test_unfit_arguments_ask_for_another_try() -> None:
    text = raised(InvalidArguments("days: Expected 'int'"), 1000).text
    assert text == (
        "Error: the arguments do not fit the tool's parameters. days: Expected 'int'. "
        "Call it again with arguments that fit."
    )


def test_an_endless_message_is_cut() -> None:
    assert len(raised(ValueError("x" * 10**6), 10**6).text) < 2200


def test_text_that_is_no_utf_8_can_be_sent() -> None:
    assert result_of("a\udcffb", 1000).text == "a\\udcffb"
    assert result_of(["a\udcffb"], 1000).text == '["a\\udcffb"]'


def test_an_exception_that_cannot_be_shown_is_its_type() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert raised(Broken(), 1000).text == "Error: Broken"


def test_images_beyond_all_measure_are_an_error() -> None:
    assert result_of(Image(bytes(21 << 20)), 1000).is_error


def test_an_image_is_shown_in_a_message_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(b"\xff\xd8")
    result = result_of(["A cat.", Image.read(path)], 1000)
    assert result.text == "A cat."
    told = tool_message("call_1", result)["content"]
    assert told == "A cat.\n(An image follows in the next message.)"
    message = image_message([("draw", result)])
    assert message is not None
    assert message["role"] == "user"
    assert message["content"][1]["image_url"]["url"] == "data:image/jpeg;base64,/9g="
    json.dumps(message)


def test_without_images_there_is_no_message() -> None:
    assert image_message([("f", result_of("x", 10))]) is None
