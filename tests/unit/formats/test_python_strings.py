"""Strings as Python writes them: what they mean, and what they cost."""

import json
import random

import pytest
from tests.timing import cpu, least

from toolwire.formats import extract, parser_for
from toolwire.protocol.tools import ToolSpec

TOOL = ToolSpec("write", None, {"properties": {"text": {"type": "string"}}})
LINE = "    if a < b: print(f'{a} of {b}', \"ok\")\n"


def _read(written: str) -> str:
    found = extract("pythonic", f"[write(text={written})]", [TOOL])
    return str(json.loads(found.calls[0].arguments)["text"])


@pytest.mark.parametrize("seed", range(8))
def test_a_string_means_what_python_says(seed: int) -> None:
    choose = random.Random(seed).choice
    for size in range(60):
        text = "".join(choose("a'\"\\\n\t\x01é n{u0041") for _ in range(size % 15))
        assert _read(repr(text)) == text
        assert _read(json.dumps(text)) == text


@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_a_string_of_many_lines_holds_quotes_and_tabs(quotes: str) -> None:
    text = "it's\n\t\"so\" ''and\\'\\\" \\\\ \\n\x01 end"
    meaning = text.replace("\\'", "'").replace('\\"', '"').replace("\\\\", "\\")
    assert _read(f"{quotes}{text}{quotes}") == meaning.replace("\\n", "\n")


def _cpu(written: str) -> float:
    parser = parser_for("pythonic", [TOOL], delivery="whole")
    return cpu(lambda: (parser.feed(f"[write(text={written})]"), parser.finish()))


@pytest.mark.timed
@pytest.mark.parametrize("write", [repr, lambda text: f"'''{text}'''"])
def test_other_quotes_cost_little_more_than_those_of_json(write: object) -> None:
    text = LINE * 8_000
    assert callable(write)
    other, usual = least(
        lambda: _cpu(write(text)),
        lambda: _cpu(json.dumps(text)),
        enough=lambda other, usual: other < 9 * usual,
    )
    assert other < 9 * usual
