"""Can a regular expression backtrack? A judgement of its syntax, not of how it runs.

A loop without an upper bound may give back what it took, and try again, only if what it takes and
what may follow it begin alike. So each such loop must be possessive, or must not be empty and must
share no first character with what follows, and in it no two branches may begin alike. Characters
are those of a sample in which every class that we use has some members.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as syntax  # type: ignore[attr-defined]
from typing import Any

ALPHABET = frozenset([*map(chr, range(0x250)), "　", "一", "▁", "｜", "😀"])
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
_CLOSED = (op.ASSERT, op.ASSERT_NOT, op.ATOMIC_GROUP)  # once matched, never entered again
_LOOPS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_known: dict[tuple[Any, str], frozenset[str]] = {}
Items = list[tuple[Any, Any]]


def loops_that_backtrack(pattern: str | bytes, flags: int = 0) -> int:
    """How many loops of the pattern may be tried in more than one way."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    return sum(_judge(list(syntax.parse(text, flags)), frozenset()))


def _judge(items: Items, follow: frozenset[str]) -> Iterator[bool]:
    """For each loop in a sequence that `follow` may follow: whether it is ambiguous."""
    for number, (kind, value) in enumerate(items):
        after = _first(items[number + 1 :], follow)
        if kind in _LOOPS:
            yield from _judge_loop(kind, value, after)
        else:
            inner = frozenset() if kind in _CLOSED else after
            for part in _parts(kind, value):
                yield from _judge(part, inner)


def _judge_loop(kind: Any, value: Any, after: frozenset[str]) -> Iterator[bool]:
    _, most, body = value
    items = list(body)
    begin = _first(items, frozenset())
    if most == op.MAXREPEAT and kind != op.POSSESSIVE_REPEAT:
        yield _nullable(items) or bool(begin & after) or _branches_overlap(items)
    yield from _judge(items, (begin if most > 1 else frozenset()) | after)


def _branches_overlap(items: Items) -> bool:
    for kind, value in items:
        if kind == op.BRANCH:
            firsts = [_first(list(branch), frozenset()) for branch in value[1]]
            if sum(map(len, firsts)) > len(frozenset().union(*firsts)):
                return True
        if any(_branches_overlap(part) for part in _parts(kind, value)):
            return True
    return False


def _parts(kind: Any, value: Any) -> list[Items]:
    """The sequences inside something that is no loop."""
    if kind == op.BRANCH:
        return [list(branch) for branch in value[1]]
    if kind == op.SUBPATTERN:
        return [list(value[3])]
    if kind == op.ATOMIC_GROUP:
        return [list(value)]
    return [list(value[1])] if kind in (op.ASSERT, op.ASSERT_NOT) else []


def _first(items: Items, follow: frozenset[str]) -> frozenset[str]:
    """The characters that a sequence, and then `follow`, may begin with."""
    found: frozenset[str] = frozenset()
    for kind, value in items:
        found |= _first_of(kind, value)
        if not _may_be_empty(kind, value):
            return found
    return found | follow


def _first_of(kind: Any, value: Any) -> frozenset[str]:
    if kind in _LOOPS:
        return _first(list(value[2]), frozenset())
    if kind in (op.AT, op.ASSERT, op.ASSERT_NOT):
        return frozenset()
    if kind in (op.BRANCH, op.SUBPATTERN, op.ATOMIC_GROUP):
        return frozenset().union(*(_first(part, frozenset()) for part in _parts(kind, value)))
    return frozenset(chr(value)) if kind == op.LITERAL else _members(kind, repr(value), value)


def _members(kind: Any, text: str, value: Any) -> frozenset[str]:
    if (kind, text) not in _known:
        _known[kind, text] = frozenset(filter(_character(kind, value), ALPHABET))
    return _known[kind, text]


def _character(kind: Any, value: Any) -> Callable[[str], bool]:
    """Whether one character fits; what is not known fits everything, to be on the safe side."""
    if kind == op.LITERAL:
        return lambda c: ord(c) == value
    if kind == op.NOT_LITERAL:
        return lambda c: ord(c) != value
    if kind == op.RANGE:
        return lambda c: value[0] <= ord(c) <= value[1]
    if kind == op.CATEGORY:
        return lambda c: re.match(_CATEGORIES[value], c) is not None
    if kind == op.IN:
        return _one_of(value)
    return lambda _: True


def _one_of(members: Iterable[tuple[Any, Any]]) -> Callable[[str], bool]:
    tests = [_character(*member) for member in members if member[0] != op.NEGATE]
    negated = any(member[0] == op.NEGATE for member in members)
    return lambda c: any(test(c) for test in tests) != negated


def _nullable(items: Items) -> bool:
    return all(_may_be_empty(kind, value) for kind, value in items)


def _may_be_empty(kind: Any, value: Any) -> bool:
    if kind in _LOOPS:
        return value[0] == 0 or _nullable(list(value[2]))
    if kind in (op.AT, op.ASSERT, op.ASSERT_NOT):
        return True
    parts = _parts(kind, value)
    return bool(parts) and any(map(_nullable, parts))
