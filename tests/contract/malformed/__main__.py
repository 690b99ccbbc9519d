"""Says the figure of SC-009: how many malformed inputs there are, and how many are caught."""

import sys
from collections import Counter
from collections.abc import Iterable
from functools import partial

from tests.contract.malformed.answers import BadCall, answers
from tests.contract.malformed.case import BadRequest
from tests.contract.malformed.outcomes import (
    wrong_with_answer,
    wrong_with_request,
    wrong_with_strict_answer,
)
from tests.contract.malformed.requests import requests


def report(bad_requests: Iterable[BadRequest], bad_calls: Iterable[BadCall]) -> str:
    """A line for each kind, and one for all."""
    tried: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    for request in bad_requests:
        _count(f"request: {request.kind}", wrong_with_request(request), tried, caught)
    for call in bad_calls:
        for form, check in (
            ("whole", partial(wrong_with_answer, stream=False)),
            ("stream", partial(wrong_with_answer, stream=True)),
        ):
            _count(f"answer, {form}: {call.kind}", check(call), tried, caught)
        if call.tool == "f":
            why = wrong_with_strict_answer(call)
            _count(f"answer, strict: {call.kind}", why, tried, caught)
    lines = [f"{kind:<45} {caught[kind]:>5} of {count:>5}" for kind, count in tried.items()]
    total, right = tried.total(), caught.total()
    lines.append(f"{'all':<45} {right:>5} of {total:>5}: {100 * right / total:.1f} %")
    return "\n".join(lines)


def _count(kind: str, why: str | None, tried: Counter[str], caught: Counter[str]) -> None:
    tried[kind] += 1
    caught[kind] += why is None


if __name__ == "__main__":
    sys.stdout.write(report(requests(), answers()) + "\n")
