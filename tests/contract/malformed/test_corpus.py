"""SC-009: every malformed input is caught, on the side it comes from, as it should be (R4)."""

import pytest
from tests.contract.malformed.__main__ import report
from tests.contract.malformed.answers import BadCall, answers
from tests.contract.malformed.case import BadRequest
from tests.contract.malformed.outcomes import (
    wrong_with_answer,
    wrong_with_request,
    wrong_with_strict_answer,
)
from tests.contract.malformed.requests import requests

REQUESTS = requests()
ANSWERS = answers()
KINDS = sorted({case.kind for case in REQUESTS})
ANSWER_KINDS = sorted({case.kind for case in ANSWERS})


def of_kind(cases: list[BadRequest] | list[BadCall], kind: str) -> list[BadRequest | BadCall]:
    return [case for case in cases if case.kind == kind]


def test_there_are_more_than_a_thousand_of_them() -> None:
    assert len(REQUESTS) > 1000
    assert len(ANSWERS) > 300


@pytest.mark.parametrize("kind", KINDS)
def test_a_malformed_request_is_refused_before_the_backend(kind: str) -> None:
    wrong = {case.name: wrong_with_request(case) for case in REQUESTS if case.kind == kind}
    assert {name: why for name, why in wrong.items() if why} == {}


@pytest.mark.parametrize("kind", ANSWER_KINDS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_malformed_call_is_caught_before_the_client(kind: str, stream: bool) -> None:
    cases = [case for case in ANSWERS if case.kind == kind]
    wrong = {case.name: wrong_with_answer(case, stream=stream) for case in cases}
    assert {name: why for name, why in wrong.items() if why} == {}


def test_a_strict_call_fits_or_is_an_error() -> None:
    cases = [case for case in ANSWERS if case.tool == "f"]
    wrong = {(case.kind, case.name): wrong_with_strict_answer(case) for case in cases}
    assert {name: why for name, why in wrong.items() if why} == {}


def test_the_figure_is_said() -> None:
    assert "100.0 %" in report(REQUESTS[::40], ANSWERS[::40])
