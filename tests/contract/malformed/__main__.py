"""Says the figures of SC-009: what becomes of malformed inputs, each outcome by itself."""

import sys
from collections import Counter
from collections.abc import Iterator

from tests.contract.malformed.answers import BadCall, answers
from tests.contract.malformed.outcomes import (
    Form,
    comes_right,
    delivered,
    outcome,
    strict_outcome,
    wrong_with_request,
)
from tests.contract.malformed.requests import requests

FORMS: tuple[Form, ...] = ("whole", "stream", "live")
_COLUMNS = ("repaired", "re-asked", "rejected", "labelled", "missed")
_EXPLAINED = """
whole      stream: false
stream     a client that does not show arguments while they arrive
live       one that does (`streams = "live"`, or its profile)
strict     a strict tool
repaired   the client got a call that fits
re-asked   not repaired, but right after the model was told what was wrong, if it learns from that
           (the columns that follow are of a model that does not)
rejected   no call reached the client: an error, or text
labelled   the call reached the client as the model made it, with a finding beside it
missed     the call reached the client without a word
"""


def report() -> str:
    """A line for each kind, and what a user would call success."""
    tables = [*_requests(), _head(), *_answers(), _EXPLAINED.rstrip()]
    return "\n".join(tables)


def _requests() -> Iterator[str]:
    tried: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for request in requests():
        tried[request.kind] += 1
        refused[request.kind] += wrong_with_request(request) is None
    for kind, count in tried.items():
        yield f"{f'request: {kind}':<45} {refused[kind]:>5} of {count:>5} refused"
    total, right = tried.total(), refused.total()
    yield f"{'requests':<45} {right:>5} of {total:>5} refused: {100 * right / total:.1f} %\n"


def _head() -> str:
    return f"{'':<45} {'':>5} " + " ".join(f"{name:>9}" for name in _COLUMNS)


def _answers() -> Iterator[str]:
    rows: dict[str, Counter[str]] = {}
    for case in answers():
        for form, outcomes in _tried(case):
            rows.setdefault(f"answer, {form}: {case.kind}", Counter()).update(outcomes)
    for form in (*FORMS, "strict"):
        mine = [row for name, row in rows.items() if name.startswith(f"answer, {form}:")]
        rows[f"all answers, {form}"] = sum(mine, Counter())
    for name, row in rows.items():
        yield f"{name:<45} {row['tried']:>5} " + " ".join(f"{row[c]:>9}" for c in _COLUMNS)
    for form in (*FORMS, "strict"):
        row = rows[f"all answers, {form}"]
        good = row["repaired"] + row["re-asked"]
        yield (
            f"{form}: {100 * row['repaired'] / row['tried']:.1f} % of bad calls end in a right one "
            f"by repair alone, {100 * good / row['tried']:.1f} % with a model that learns when told"
        )


def _tried(case: BadCall) -> Iterator[tuple[str, list[str]]]:
    for form in FORMS:
        found = outcome(case, delivered(case, form=form))
        learns = found != "repaired" and comes_right(case, form=form)
        yield form, ["tried", found, *["re-asked"] * learns]
    if case.tool == "f":
        found, _ = strict_outcome(case)
        learns = found != "repaired" and comes_right(case, strict=True)
        yield "strict", ["tried", found, *["re-asked"] * learns]


if __name__ == "__main__":
    sys.stdout.write(report() + "\n")
