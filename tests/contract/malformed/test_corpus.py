"""SC-009: every malformed input is caught, on the side it comes from, as it should be (R4)."""

from pathlib import Path

import pytest
from tests.contract.malformed.__main__ import FORMS, report
from tests.contract.malformed.answers import BadCall, answers
from tests.contract.malformed.case import BadRequest
from tests.contract.malformed.outcomes import (
    Form,
    comes_right,
    strict_outcome,
    wrong_with_answer,
    wrong_with_request,
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
@pytest.mark.parametrize("form", FORMS)
def test_a_malformed_call_is_caught_before_the_client(kind: str, form: Form) -> None:
    cases = [case for case in ANSWERS if case.kind == kind]
    wrong = {case.name: wrong_with_answer(case, form) for case in cases}
    assert {name: why for name, why in wrong.items() if why} == {}


def test_a_strict_call_fits_or_is_an_error() -> None:
    cases = [case for case in ANSWERS if case.tool == "f"]
    wrong = {(case.kind, case.name): strict_outcome(case)[1] for case in cases}
    assert {name: why for name, why in wrong.items() if why} == {}


@pytest.mark.parametrize("form", ["whole", "stream"])
def test_a_model_that_learns_when_told_is_told(form: Form) -> None:
    cases = [case for case in ANSWERS if case.code is not None]
    assert [case.name for case in cases if not comes_right(case, form=form)] == []


def test_a_model_that_learns_when_told_makes_a_strict_call_that_fits() -> None:
    cases = [case for case in ANSWERS if case.tool == "f"]
    rejected = [case for case in cases if strict_outcome(case)[0] == "rejected"]
    assert [case.name for case in rejected if not comes_right(case, strict=True)] == []


@pytest.mark.slow
def test_the_figures_are_said_one_by_one() -> None:
    said = report()
    for word in ("refused: 100.0 %", "repaired", "re-asked", "rejected", "labelled", "missed"):
        assert word in said
    rows = {line.split()[2]: line.split()[3:] for line in said.splitlines() if line[:4] == "all "}
    assert list(rows) == ["whole", "stream", "live", "strict"]
    assert rows["stream"] == rows["whole"]
    assert [row[-1] for row in rows.values()] == ["0"] * len(rows)
    page = (Path(__file__).parents[3] / "docs" / "repairs.md").read_text()
    for form, name in (
        ("whole", "`whole`"),
        ("live", "`live`"),
        ("strict", "`whole`, a strict tool"),
    ):
        assert f"| {' | '.join([name, *rows[form]])} |" in page
