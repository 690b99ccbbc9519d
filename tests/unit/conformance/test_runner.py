import json
from dataclasses import replace

import pytest
from tests.unit.conformance import faulty
from tests.unit.conformance.faulty import Toy, toy_case

from toolwire.conformance import Adapter, Options, State, applicable, run_case, run_cases
from toolwire.conformance.compare import same_json
from toolwire.conformance.cuts import critical_places, cuttings

TEXT = 'Now: CALL get_time {"tz": "CET", "n": 1}; CALL refresh {};'


def problems(
    adapter: Adapter, *, streaming: bool = False, text: str = TEXT, **changes: object
) -> str:
    case = toy_case(text, streaming=streaming, **changes)
    return "\n".join(run_case(adapter, case).problems)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_right_parser_passes(streaming: bool) -> None:
    outcome = run_case(Toy(), toy_case(TEXT, streaming=streaming))
    assert outcome.case.state is State.PASSED
    assert outcome.problems == ()


def test_an_exception_is_a_failure_and_is_named() -> None:
    assert "the parser raised IndexError: list index" in problems(faulty.Raises())


def test_lost_text_is_found_and_shown() -> None:
    assert problems(faulty.LosesText()) == 'content: expected "Now:  ", found ""'


def test_calls_that_are_lost_in_pieces_are_found() -> None:
    assert problems(faulty.LosesCallsInSmallPieces()) == ""
    found = problems(faulty.LosesCallsInSmallPieces(), streaming=True)
    assert "in pieces of 1: calls: expected get_time, refresh, found none" in found


def test_a_broken_protocol_is_found() -> None:
    found = problems(faulty.RepeatsIds(), streaming=True)
    assert "in one piece: call 0 went on after call 1 had begun" in found


def test_a_result_of_another_type_is_found() -> None:
    assert "extract gave dict" in problems(faulty.GivesTheWrongThing())


def test_wrong_arguments_are_shown_beside_the_right_ones() -> None:
    case = toy_case(TEXT, streaming=False)
    other = replace(case, model_output=TEXT.replace("CET", "UTC"))
    found = "\n".join(run_case(Toy(), other).problems)
    assert 'arguments of call 0 (get_time): expected {"tz": "CET"' in found
    assert 'found {"tz": "UTC"' in found


def test_ids_are_compared_if_the_text_gives_them() -> None:
    assert problems(Toy(), expected_ids=("call_0", "call_1")) == ""
    assert "ids: expected x, y, found call_0, call_1" in problems(Toy(), expected_ids=("x", "y"))


def test_ids_must_be_unique_even_if_the_text_gives_none() -> None:
    assert "ids: they are not unique: call_0, call_0" in problems(faulty.SharesIds())


def test_ids_that_are_made_up_must_not_be_short() -> None:
    assert "ids: 'call_0' is short, and may collide" in problems(Toy(), shortest_id=16)


def test_a_call_that_was_cut_off_must_not_be_mended() -> None:
    changes = {"malformed": True, "cut": True, "expected_content": 'CALL get_time {"tz": "CE'}
    text = 'CALL get_time {"tz": "CE'
    found = problems(faulty.Mends(), streaming=True, text=text, **changes)
    assert "the call of get_time was cut off, but delivered as if it were whole" in found
    assert problems(Toy(), streaming=True, text=text, **changes) == ""


def test_arguments_must_come_while_they_are_made() -> None:
    assert "no piece of the arguments has come" in problems(
        faulty.Sluggish(), streaming=True, live=True
    )
    assert problems(Toy(), streaming=True, live=True) == ""


@pytest.mark.parametrize("entry", ["toy/toy", "toy/*", "*/toy", "toy/toy:stream"])
def test_the_list_names_cases_with_stars(entry: str) -> None:
    outcome = run_case(faulty.RepeatsIds(), toy_case(TEXT, streaming=True), Options(xfail=(entry,)))
    assert outcome.case.state is State.XFAILED
    assert outcome.problems


def test_an_entry_for_the_stream_does_not_excuse_the_whole() -> None:
    options = Options(xfail=("toy/toy:stream",))
    outcome = run_case(faulty.Raises(), toy_case(TEXT, streaming=False), options)
    assert outcome.case.state is State.FAILED


def test_a_pass_on_the_list_is_a_surprise() -> None:
    outcome = run_case(Toy(), toy_case(TEXT, streaming=False), Options(xfail=("toy/toy",)))
    assert (outcome.case.state, outcome.surprise) == (State.PASSED, True)


@pytest.mark.parametrize(
    ("rule", "state"),
    [("exact", State.FAILED), ("trimmed", State.PASSED), ("any", State.PASSED)],
)
def test_content_is_compared_by_the_rule_that_is_chosen(rule: str, state: State) -> None:
    case = toy_case(TEXT, streaming=False, expected_content="Now:")
    options = Options(content=rule)  # type: ignore[arg-type]
    assert run_case(Toy(), case, options).case.state is state


def test_cases_with_reasoning_are_only_for_those_who_read_it() -> None:
    cases = [
        toy_case(TEXT, streaming=False),
        toy_case(TEXT, streaming=False, expected_reasoning="hm"),
    ]
    reader = Toy()
    reader.reads_reasoning = True  # type: ignore[attr-defined]
    assert len(applicable(Toy(), cases)) == 1
    assert len(applicable(reader, cases)) == 2


def test_cases_run_in_order_each_on_a_fresh_parser() -> None:
    cases = [toy_case(TEXT, streaming=mode) for mode in (False, True)]
    assert [o.case.name for o in run_cases(Toy(), cases)] == ["toy/toy", "toy/toy:stream"]


def test_a_text_is_cut_in_every_size_and_at_critical_places() -> None:
    case = toy_case(TEXT, streaming=True, deltas=(TEXT[:3], TEXT[3:]), splits=(7,))
    ways = dict(cuttings(case))
    assert all("".join(pieces) == TEXT for pieces in ways.values())
    assert {"in one piece", "in the deltas of the case", "cut at 7"} < ways.keys()
    assert {f"in pieces of {size}" for size in (1, 2, 3, 5, 11, 23)} < ways.keys()


def test_critical_places_are_inside_names_keys_and_values() -> None:
    places = critical_places(toy_case(TEXT, streaming=True))
    words = [("get_time", 0), ("tz", 0), ("CET", 0), ("refresh", TEXT.index(";"))]
    for word, start in words:
        at = TEXT.index(word, start)
        assert any(at < place < at + len(word) for place in places), word
    assert TEXT.index("refresh") in places


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1", "1.0", True),
        ("true", "1", False),
        ("0", "false", False),
        ("[true]", "[1]", False),
        ("null", '"null"', False),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
        ('{"a": 1}', '{"a": 1, "b": 2}', False),
        ("[1, 2]", "[2, 1]", False),
        ("[1]", "[1, 2]", False),
        ('{"a": {"b": [1, {"c": true}]}}', '{"a": {"b": [1, {"c": true}]}}', True),
    ],
)
def test_json_is_equal_by_value_and_type(one: str, other: str, same: bool) -> None:
    assert same_json(json.loads(one), json.loads(other)) is same
