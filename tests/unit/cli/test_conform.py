import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolwire.cli import main

OURS = "toolwire.conformance.adapters:ours"
CASE = {"name": "x", "text": 'CALL f {"a": 1};', "content": None, "reasoning": None}
CASE |= {"calls": [{"name": "f", "arguments": {"a": 1}}], "note": "a toy"}


def conform(*words: str) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": "150"}).invoke(main, ["conform", *words])
    return result.exit_code, result.output


@pytest.fixture
def toy_cases(tmp_path: Path) -> str:
    path = tmp_path / "toy.json"
    path.write_text(json.dumps({"format": "toy", "cases": [CASE]}))
    return str(path)


def factory(name: str) -> str:
    return f"tests.unit.cli.toy_adapters:{name}"


def test_our_own_parser_passes_and_the_table_says_so() -> None:
    code, output = conform("--parser", OURS, "--format", "longcat", "--format", "qwen25")
    assert code == 0
    assert "longcat" in output
    assert "hermes" in output  # whatever it was called
    assert "all" in output


def test_a_faulty_parser_fails_and_the_failures_are_shown(toy_cases: str) -> None:
    code, output = conform("--parser", factory("raises"), "--cases", toy_cases)
    assert code == 1
    assert "toy/x  (a toy)" in output
    assert "the parser raised IndexError" in output


def test_a_right_parser_of_ones_own_format_passes(toy_cases: str) -> None:
    assert conform("--parser", factory("right"), "--cases", toy_cases)[0] == 0


def test_failures_on_the_list_are_expected(toy_cases: str, tmp_path: Path) -> None:
    listed = tmp_path / "xfail.txt"
    listed.write_text("# known\n\ntoy/x  # see the issue\n")
    words = ("--cases", toy_cases, "--xfail", str(listed))
    assert conform("--parser", factory("raises"), *words)[0] == 0
    code, output = conform("--parser", factory("right"), *words)
    assert code == 0
    assert "toy/x passes: take it off the list of failures" in output


def test_content_can_be_compared_loosely(tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    text = CASE["text"]
    path.write_text(json.dumps({"format": "toy", "cases": [{**CASE, "text": f" {text}"}]}))
    words = ("--parser", factory("right"), "--cases", str(path))
    assert conform(*words)[0] == 1
    assert conform(*words, "--content", "trimmed")[0] == 0


def test_results_come_as_json(toy_cases: str) -> None:
    _, output = conform("--parser", factory("raises"), "--cases", toy_cases, "--json")
    states = [(one["case"], one["state"]) for one in json.loads(output)]
    assert states == [("toy/x", "failed"), ("toy/x:stream", "failed")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--parser", "no.such:thing"], "cannot import no.such"),
        (["--parser", OURS, "--format", "hermse"], "Did you mean hermes?"),
        (["--parser", OURS, "--cases", "/no/such.json"], "cannot read /no/such.json"),
        (["--parser", OURS, "--xfail", "/no/such.txt"], "cannot read /no/such.txt"),
        (["--parser", factory("nothing"), "--format", "hermes"], "knows none of these formats"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(words: list[str], message: str) -> None:
    code, output = conform(*words)
    assert code == 2
    assert message in output
    assert len(output.strip().splitlines()) == 1
