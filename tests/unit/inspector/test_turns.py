"""The last requests: who may see which, and a line about each."""

from typing import Any

import msgspec
import pytest

from toolwire.inspector.turns import TurnLog, outcome


class Kept:
    """Traces in a dict."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self.records = {record["request_id"]: msgspec.json.encode(record) for record in records}
        self.looked = 0
        self.read = 0

    def watch(self) -> None:
        self.looked += 1

    def newest(self, count: int) -> list[str]:
        return list(self.records)[::-1][:count]

    def load(self, request_id: str) -> bytes | None:
        self.read += 1
        return self.records.get(request_id)


def record(request_id: str, **changes: Any) -> dict[str, Any]:
    attempt = {
        "backend": "local",
        "strategy": {"kind": "prompted", "format": "hermes"},
        "heard": [{"at": 0.5, "fragments": []}],
        "findings": [],
        "sent": {"0": {"calls": [["call_1", "get_weather", "{}"]]}},
    }
    plan = {"model": "m", "tools": ["get_weather"], "stream": True}
    whole = {"request_id": request_id, "at": 1.0, "took": 2.0, "key": "", "plan": plan}
    whole |= {"attempts": [attempt], "repairs": [], "retries": [], "error": None, "gone": False}
    return {**whole, "bodies": True, **changes}


def turns(kept: Kept, *, all_for: tuple[str | None, ...] = (None,)) -> TurnLog:
    return TurnLog(kept, lambda viewer: viewer in all_for)


def test_a_line_says_what_was_asked_and_what_came_of_it() -> None:
    (line,) = turns(Kept(record("req_1"))).list(None)
    assert (line["model"], line["calls"], line["first"]) == ("m", ["get_weather"], 0.5)
    assert (line["strategy"], line["format"], line["outcome"]) == ("prompted", "hermes", "ok")


def test_the_newest_comes_first_and_is_decoded_once() -> None:
    kept = Kept(record("req_1"), record("req_2"))
    seen = turns(kept)
    assert [line["id"] for line in seen.list(None)] == ["req_2", "req_1"]
    seen.list(None)
    assert kept.read == 2


def test_a_key_sees_its_own_requests_and_no_others() -> None:
    seen = turns(Kept(record("req_1", key="laptop"), record("req_2", key="phone")), all_for=("op",))
    assert [line["id"] for line in seen.list("laptop")] == ["req_1"]
    assert [line["id"] for line in seen.list("op")] == ["req_2", "req_1"]
    assert seen.find("req_2", "laptop") is None
    assert seen.find("req_2", "phone") is not None
    assert seen.list("other") == []


def test_a_damaged_trace_is_left_out() -> None:
    kept = Kept(record("req_1"))
    kept.records |= {"req_2": b"{", "req_3": b"[]", "req_4": b'{"attempts": 1}'}
    seen = turns(kept)
    assert [line["id"] for line in seen.list(None)] == ["req_1"]
    assert seen.find("req_2", None) is None
    assert seen.find("req_3", None) is None
    assert seen.find("req_9", None) is None


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "ok"),
        ({"repairs": ["integer"]}, "repaired"),
        ({"repairs": ["asked_again:invalid_tool_arguments"], "attempts": [{}, {}]}, "retried"),
        ({"gone": True}, "gone"),
        ({"error": {"code": "upstream_error"}, "gone": True}, "error"),
    ],
)
def test_the_outcome_is_the_worst_that_happened(changes: dict[str, Any], word: str) -> None:
    made = record("req_1", **changes)
    assert outcome(made, made["attempts"][-1]) == word


def test_a_call_that_stayed_invalid_is_an_outcome_of_its_own() -> None:
    assert outcome(record("req_1", retries=["invalid"]), {"findings": [{}]}) == "invalid"
