"""What is saved is a case of the conformance kit, and passes it."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwire.conformance import State, cases_of, read_cases, run_cases
from toolwire.conformance.adapters import ours, to_tools
from toolwire.inspector.case import case_file


def written(tmp_path: Path, made: dict[str, Any]) -> Path:
    path = tmp_path / "case.json"
    path.write_text(json.dumps(made))
    return path


@pytest.mark.parametrize("format_name", ["hermes", "mistral_v7", "kimi_k2", "openai", "pythonic"])
def test_a_saved_text_passes_the_kit(tmp_path: Path, format_name: str) -> None:
    sample = next(case for case in cases_of(format_name) if len(case.expected_tool_calls) == 2)
    tools = tuple(to_tools(sample.tools))
    made = case_file(format_name, sample.model_output, tools, called="Two Calls!")
    cases = read_cases(written(tmp_path, made))
    adapter = ours(format_name)
    assert adapter is not None
    assert [case.scenario_name for case in cases] == ["two_calls", "two_calls"]
    assert cases[0].expected_tool_calls == sample.expected_tool_calls
    states = [outcome.case.state for outcome in run_cases(adapter, cases)]
    assert states == [State.PASSED, State.PASSED]


def test_a_text_without_calls_is_a_case_too(tmp_path: Path) -> None:
    made = case_file("auto", "Nothing to call here.", ())
    cases = read_cases(written(tmp_path, made))
    assert cases[0].name == "hermes/saved"
    assert cases[0].expected_content == "Nothing to call here."
