import json
from pathlib import Path
from typing import Any

import pytest

from toolwire.conformance import InvalidCases, cases_of, read_cases

CASE = {"name": "x", "text": "t", "content": "t", "reasoning": None, "calls": []}


def written(folder: Path, value: Any) -> Path:
    path = folder / "mine.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_each_case_is_read_whole_and_streamed(tmp_path: Path) -> None:
    cases = read_cases(written(tmp_path, {"format": "mine", "cases": [CASE]}))
    assert [case.name for case in cases] == ["mine/x", "mine/x:stream"]


def test_a_case_has_the_standard_tools_unless_it_brings_its_own(tmp_path: Path) -> None:
    own = {**CASE, "name": "y", "tools": [{"name": "f", "parameters": {}}]}
    cases = read_cases(written(tmp_path, {"format": "mine", "cases": [CASE, own]}))
    assert "get_weather" in [tool["function"]["name"] for tool in cases[0].tools]
    assert cases[2].tools == ({"type": "function", "function": {"name": "f", "parameters": {}}},)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", "mine.json: "),
        ({"format": "mine"}, "cases"),
        ({"format": "mine", "cases": [{**CASE, "contents": 1}]}, "contents"),
        ({"format": "mine", "cases": [{k: v for k, v in CASE.items() if k != "calls"}]}, "calls"),
        ({"format": "mine", "cases": [{**CASE, "pattern": 11}]}, "11"),
        ({"format": "mine", "cases": [{**CASE, "deltas": ["no"]}]}, "add up"),
        ({"format": "mine", "cases": [CASE, CASE]}, "two cases are called 'x'"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(InvalidCases, match=message):
        read_cases(written(tmp_path, value))


def test_a_file_about_a_parser_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"format": "mine", "cases": [CASE]})
    with pytest.raises(InvalidCases, match="no parser is registered as 'mine'"):
        read_cases(path, registered=("hermes",))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidCases, match=r"cannot read .*nothing.json: No such file"):
        read_cases(tmp_path / "nothing.json")


def test_a_format_that_is_not_registered_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(InvalidCases, match=r"'nope'.*hermes"):
        cases_of("nope")


def test_a_format_has_its_cases_by_any_of_its_names() -> None:
    assert cases_of("qwen25") == cases_of("hermes")


def test_only_formats_whose_ids_mean_something_may_have_short_ones() -> None:
    shortest = {name: cases_of(name)[0].shortest_id for name in ("hermes", "kimi_k2", "mistral")}
    assert shortest == {"hermes": 16, "kimi_k2": 1, "mistral": 1}
