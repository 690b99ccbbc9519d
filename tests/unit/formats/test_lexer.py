"""Markers in text that arrives in pieces."""

import re

import pytest

from toolwire.formats.engines.tags import Tags, body_lexer, value_lexer
from toolwire.formats.lexer import NO_CALL, Lexer
from toolwire.formats.reader import Reader


def reader_of(text: str, *, final: bool = False) -> Reader:
    reader = Reader()
    reader.add(text)
    reader.final = final
    return reader


def test_a_beginning_of_a_marker_is_held_and_no_more() -> None:
    lexer = Lexer({"<tool>": "open"})
    assert lexer.search(reader_of("a<b <to")) == (4, 4, "")
    assert lexer.search(reader_of("a<b <to", final=True)) == (7, 7, "")


def test_the_longest_marker_wins_and_is_waited_for() -> None:
    lexer = Lexer({"</r>": "short", "\n</r>\n": "long"})
    assert lexer.search(reader_of("x\n</r>")) == (1, 1, "")
    assert lexer.search(reader_of("x\n</r>\n")) == (1, 7, "\n</r>\n")
    assert lexer.search(reader_of("x\n</r>y")) == (2, 6, "</r>")
    assert lexer.search(reader_of("x\n</r>", final=True)) == (2, 6, "</r>")


def test_a_loose_marker_may_carry_a_tail() -> None:
    lexer = Lexer({"</p>": "close"}, loose=("</p>",))
    assert lexer.search(reader_of("v</p1>")) == (1, 6, "</p>")
    assert lexer.search(reader_of("v</p/>")) == (1, 6, "</p>")
    assert lexer.search(reader_of("v</p1 ")) == (6, 6, "")


def test_openers_that_no_call_can_follow_are_passed_over_together() -> None:
    lexer = Lexer({"[": "bare", "<t>": "open"}, begins={"[": r"\[(?:\Z|x)"})
    assert lexer.search(reader_of("a [b [ c [x")) == (2, 6, NO_CALL)
    assert lexer.search(reader_of("a [<t>")) == (2, 3, NO_CALL)
    assert lexer.search(reader_of("a [xy")) == (2, 3, "[")


def test_an_opener_is_held_till_it_is_sure_whether_a_call_can_follow() -> None:
    lexer = Lexer({"[": "bare"}, begins={"[": r"\[(?:\Z|x)"})
    assert lexer.search(reader_of("a [")) == (2, 2, "")
    assert lexer.search(reader_of("a [", final=True)) == (2, 3, "[")


def test_a_head_that_is_too_long_is_given_up() -> None:
    lexer = Lexer({">": "end"})
    assert next(lexer.read_to(reader_of("x" * 30), 100), "waits") is None
    found = None
    try:
        next(lexer.read_to(reader_of("x" * 300 + ">"), 100))
    except StopIteration as end:
        found = end.value
    assert found is None


def test_what_ends_a_value_is_made_once_for_all_keys_that_have_the_same_close() -> None:
    tags = Tags(param="<p=", close="</p>", call_close=("</c>",))
    named = Tags(param="<p=", close="</{key}>", call_close=("</c>",))
    for each, same in ((tags, True), (named, False)):
        body, stop = body_lexer(each, "f", ()), Lexer({"</calls>": "end"})
        first, second = (value_lexer(each, body, stop, key) for key in ("a", "b"))
        assert (first is second) == same


def test_the_expression_for_complete_text_is_not_compiled_before_the_text_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(
        re, "compile", lambda text, make=re.compile: compiled.append(text) or make(text)
    )
    lexer, text = Lexer({"<only_here>": "open"}), "a <only_here>"
    assert lexer.search(reader_of(text)) == (2, 13, "<only_here>")
    assert len(compiled) == 1
    for _ in range(2):
        assert lexer.search(reader_of(text, final=True)) == (2, 13, "<only_here>")
    assert len(compiled) == 2
