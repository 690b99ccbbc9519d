"""The shipped cases: complete, independent of our parsers, and passed by them."""

import json

import pytest
from tests.unit.conformance.wire.__main__ import CASES
from tests.unit.conformance.wire.systematic import WIRES, systematic_cases
from tests.unit.conformance.wire.wire import Wire

from toolwire.conformance import PATTERNS, State, cases_of, formats_with_cases, run_cases
from toolwire.conformance.adapters import ours, ours_whole
from toolwire.formats import names

# What went wrong in other parsers, and where it was reported: some case must guard against each.
REPORTS = {
    "the last brace is lost": "vllm#32152",
    "no arguments, no braces": "vllm#28806",
    "guessed text is sent": "vllm#10395",
    "strings are trimmed": "vllm#48753",
    "a closing tag in a value ends it": "vllm#44060",
    "anyOf makes a string of an object": "vllm#36032",
    "arguments are encoded twice": "vllm#54964",
    "held text comes twice": "vllm#38910",
    "several calls in one delta": "vllm#41967",
    "markers leak, arguments are capped": "vllm PR #38579",
    "an id is replaced": "vllm#50768",
    "a call ends in reasoning": "vllm#39056",
    "a call is only mentioned": "lmstudio#1592",
    "a type is guessed too early": "vllm#48702",
    "an empty call robs the next": "vllm#47901",
    "a negative number is refused": "vllm#19569",
    "nested lists end the call": "vllm#30722",
    "JSON on several lines is not seen": "hermes-agent#443",
    "the inner object is taken": "vllm#27701",
    "JSON in an answer is a call": "llama.cpp#18183",
    "an escape is cut": "llama.cpp#16465",
    "a closer must have newlines": "llama.cpp#26763",
    "a closer is missing": "llama.cpp#12153",
    "a wrapper is missing": "ollama#16686",
    "a < in code": "ollama#18563",
    "arguments that are no JSON": "ollama#12064",
    "odd headers": "ollama#11991",
    "the index is the tool's": "sglang#35564",
    "a parameter comes twice": "sglang#39836",
    "letters are escaped differently": "vllm#17703",
    "a cut call looks complete": "vllm#53269",
    "text behind a call is lost": "vllm#56263",
    "arguments come all at once": "vllm#36116",
    "entities are undone": "smg#1888",
    "a key begins with a dash": "vllm-ascend#12815",
    "templates want objects": "flama#258",
}


@pytest.mark.parametrize("make", [ours, pytest.param(ours_whole, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", names())
def test_our_parser_passes_every_case_whole_and_streamed(name: str, make: object) -> None:
    adapter = make(name)  # type: ignore[operator]
    outcomes = run_cases(adapter, cases_of(name))
    assert [(o.case.name, *o.problems) for o in outcomes if o.case.state is State.FAILED] == []


@pytest.mark.parametrize("name", names())
def test_every_format_has_cases_of_all_ten_patterns(name: str) -> None:
    assert {case.pattern for case in cases_of(name)} == set(PATTERNS)


def test_every_file_of_cases_belongs_to_a_format() -> None:
    assert set(formats_with_cases()) == set(names())


def test_every_format_is_told_a_second_time() -> None:
    assert {wire.format for wire in WIRES} == set(names())


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.format)
def test_the_files_hold_what_the_writers_write(wire: Wire) -> None:
    file = json.loads((CASES / f"{wire.format}.json").read_text(encoding="utf-8"))
    held = {case["name"]: case for case in file["cases"]}
    for case in systematic_cases(wire):
        assert held[case["name"]] == case, "run `python -m tests.unit.conformance.wire`"


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_some_case_guards_against_every_bug_seen_elsewhere(report: str) -> None:
    notes = [case.note for name in names() for case in cases_of(name)]
    assert any(report in note for note in notes)


def test_there_are_many_cases() -> None:
    assert sum(len(cases_of(name)) // 2 for name in names()) >= 3000


@pytest.mark.parametrize("name", ["mistral", "mistral_v3", "mistral_call_id", "kimi_k2"])
def test_formats_with_ids_of_their_own_have_cases_about_them(name: str) -> None:
    assert any(case.expected_ids for case in cases_of(name))


@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        ("hermes", "scratch_pad"),
        ("pythonic", "python_escapes"),
        ("mistral", "v11_parallel"),
        ("mistral", "v13_parallel"),
        ("mistral", "id_first"),
        ("openai", "all_channels"),
        ("openai", "plain_content_type"),
    ],
)
def test_extensions_of_single_parsers_are_there(name: str, scenario: str) -> None:
    assert scenario in {case.scenario_name for case in cases_of(name)}
