"""The example shows what it says: an adapter, and what the kit finds with it."""

import pytest

from toolwire.conformance import State, applicable, cases_of, run_cases
from toolwire.conformance.adapter import adapter_for, load_factory


@pytest.mark.slow
def test_the_kit_finds_the_faults_of_the_example_and_nothing_else() -> None:
    adapter = adapter_for(load_factory("examples.conformance_adapter:adapter"), "hermes")
    assert adapter is not None
    outcomes = list(run_cases(adapter, applicable(adapter, cases_of("hermes"))))
    failed = {o.case.scenario_name for o in outcomes if o.case.state is State.FAILED}
    passed = {o.case.scenario_name for o in outcomes if o.case.state is State.PASSED}
    assert {"text_behind", "no_end_marker", "arguments_encoded_twice", "invalid_json"} <= failed
    assert {"one_call", "parallel_calls", "types_nested", "string_letters"} <= passed - failed
