"""Finds markers in text that arrives in pieces, and holds back as little as possible.

All markers of a state are compiled into one regular expression shaped like a trie, in which every
inner node may also end at the end of the buffer. One search then answers both questions: where is
the leftmost, longest marker, and does the buffer end in what may become one? The trie has no
repetition, so a search cannot backtrack further than the longest marker.

An opener that no call follows is skipped in the same search, and so are similar openers close after
it. A flood of openers then costs a few searches instead of many failed calls.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from toolwire.formats.reader import Need, Reader

TAIL = r"(?:[:/=\w]{1,32}+| )"  # what a loose marker may carry before its ">"
_CLOSING_TAIL = rf"(?![^\W\d]){TAIL}"  # `</parameters>` is another tag than `</parameter>`
_NEAR = 16  # maximum plain characters between openers that are skipped together
# Matches nothing. A third first character makes `re` look for any of them in a table, which takes
# two thirds of the time of comparing each character with two.
_THIRD = r"\x00(?!)"
NO_CALL = "an opener of no call"  # reported as marker and kind for skipped openers


class Lexer:
    """The live markers of one state, each with a kind.

    A marker in `loose` ends in ">" and may carry a tail before it: `</parameter1>`,
    `</parameter >`, `<tool_call:opensource>`. It is reported as the marker without the tail. The
    tail of a closing tag does not begin with a letter.

    `begins` maps openers to the pattern of a possible call. The pattern matches short text from the
    opener on. Where truncated text may still become a match, it ends in `\\Z`.

    The expression for complete text is compiled when it is first used. Most lexers never meet the
    end of a text, and to compile all of them at once makes others wait.
    """

    __slots__ = (
        "_begins",
        "_endings",
        "_extendable",
        "_final",
        "_partial",
        "ahead",
        "firsts",
        "kinds",
        "longest",
        "loose",
    )

    def __init__(
        self,
        kinds: Mapping[str, str],
        loose: Iterable[str] = (),
        begins: Mapping[str, str] | None = None,
    ) -> None:
        self.kinds = {**kinds, NO_CALL: NO_CALL} if begins else dict(kinds)
        self.loose = frozenset(loose)
        markers = list(kinds)
        self.firsts = frozenset(marker[0] for marker in markers)
        self.longest = max(map(len, markers), default=0)
        self._extendable = {m for m, o in pairwise(sorted(markers)) if o.startswith(m)}
        self._begins = {opener: re.compile(text) for opener, text in (begins or {}).items()}
        self._endings = _endings(markers, begins or {})
        self.ahead = _trie(markers, self.loose, self._endings, partial=True)
        self._partial = re.compile(self.ahead)
        self._final: re.Pattern[str] | None = None

    def _complete(self) -> re.Pattern[str]:
        """Return the expression for complete text."""
        if self._final is None:
            markers = [marker for marker in self.kinds if marker != NO_CALL]
            self._final = re.compile(_trie(markers, self.loose, self._endings, partial=False))
        return self._final

    def search(self, reader: Reader, ahead: int = 0) -> tuple[int, int, str]:
        """Return the end of the plain text, the end of the marker after it, and that marker.

        Without a marker the last is "": everything up to the first number is plain, and the rest,
        if any, may begin a marker. Skipped openers are reported as one marker, `NO_CALL`.
        """
        buf, final = reader.buf, reader.final
        match = (self._complete() if final else self._partial).search(buf, reader.pos + ahead)
        if match is None:
            size = len(buf)
            return size, size, ""
        start, end = match.span()
        if match.lastindex:
            return start, end, NO_CALL
        marker = self._marker(match.group())
        if marker and (final or self._sure(marker, buf, start, end)):
            return start, end, marker
        return start, start, ""

    def read_to(
        self, reader: Reader, limit: int, ahead: int = 0
    ) -> Need[tuple[str, str, int] | None]:
        """Return the text up to the next marker, which must begin within `limit` characters.

        Returns the text, the marker and its length. Consumes nothing.
        """
        while True:
            buf, pos = reader.buf, reader.pos + ahead
            end = min(len(buf), pos + limit + self.longest + 40)
            match = (self._complete() if reader.final else self._partial).search(buf, pos, end)
            if match is not None and match.start() - pos <= limit:
                marker = self._marker(match.group())
                sure = reader.final or match.end() < len(buf) or marker not in self._extendable
                if marker and sure:
                    return buf[pos : match.start()], marker, match.end() - match.start()
            if reader.final or len(buf) - pos > limit + self.longest + 40:
                return None
            yield

    def at(self, reader: Reader, ahead: int = 0) -> Need[tuple[str, int]]:
        """Return the marker at the reader's position (plus `ahead`) and its length, or ("", 0)."""
        while True:
            buf, pos = reader.buf, reader.pos + ahead
            if pos >= len(buf) and not reader.final:
                yield
                continue
            match = (self._complete() if reader.final else self._partial).match(buf, pos)
            if match is None:
                return "", 0
            marker = self._marker(match.group())
            sure = reader.final or match.end() < len(buf) or marker not in self._extendable
            if marker and sure:
                return marker, match.end() - pos
            if reader.final:
                return "", 0
            yield

    def find(self, text: str, start: int, end: int) -> int:
        """Return the position of the first complete marker in that part of a text, or -1."""
        match = self._complete().search(text, start, end)
        return match.start() if match else -1

    def begun(self, reader: Reader, ahead: int = 0) -> bool:
        """Whether the text from that far ahead on is a truncated marker."""
        start = reader.pos + ahead
        match = self._partial.match(reader.buf, start) if start < len(reader.buf) else None
        return match is not None and match.end() == len(reader.buf)

    def cut(self, reader: Reader) -> int:
        """Return the position of a truncated marker at the end of the text, or the end.

        Call it when the text is complete and contains no further marker.
        """
        match = self._partial.search(reader.buf, reader.pos)
        return match.start() if match and match.end() == len(reader.buf) else len(reader.buf)

    def _sure(self, marker: str, buf: str, start: int, end: int) -> bool:
        """Whether further text cannot change this match."""
        if (begins := self._begins.get(marker)) and (match := begins.match(buf, start)):
            return match.end() < len(buf) or _certain(begins.pattern).match(buf, start) is not None
        return end < len(buf) or marker not in self._extendable

    def _marker(self, found: str) -> str:
        if found in self.kinds:
            return found
        if self.loose and found.endswith(">"):
            fitting = (marker for marker in self.loose if found.startswith(marker[:-1]))
            return max(fitting, key=len, default="")
        return ""


def any_of(markers: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches the longest of these markers, in complete text."""
    return re.compile(_trie(markers, frozenset(), {}, partial=False))


@lru_cache(maxsize=256)
def _certain(begins: str) -> re.Pattern[str]:
    """Return what matches the beginning of a call, but not text that may become one."""
    return re.compile(begins.replace(r"\Z", "(?!)"))


def _endings(markers: Iterable[str], begins: Mapping[str, str]) -> dict[str, str]:
    """For openers: the pattern of what to skip after one without a call, with a group."""
    # A lookbehind with a lookahead: the opener is already matched, and is tested from its start.
    refused = {m: f"(?<!(?={text}){re.escape(m)})" for m, text in begins.items()}
    if not refused:
        return {}
    firsts = re.escape("".join({marker[0] for marker in markers}))
    again = "|".join(
        re.escape(m) + _unless_longer(m, markers) + text for m, text in refused.items()
    )
    return {m: f"{text}(?:[^{firsts}]{{0,{_NEAR}}}+(?:{again}))*+()" for m, text in refused.items()}


def _unless_longer(marker: str, markers: Iterable[str]) -> str:
    """For a marker that is a prefix of others: assert that none of these may match instead."""
    rests = [o[len(marker) :] for o in markers if o != marker and o.startswith(marker)]
    return rf"(?!\Z|{_trie(rests, frozenset(), {}, partial=True)})" if rests else ""


def _trie(
    markers: Iterable[str], loose: frozenset[str], endings: Mapping[str, str], *, partial: bool
) -> str:
    root: dict[str, Any] = {}
    for marker in markers:
        node = root
        for char in marker[:-1] if marker in loose else marker:
            node = node.setdefault(char, {})
        if marker in loose:
            node = node.setdefault(_tail(marker), {})
        node[""] = endings.get(marker, "")
    if not root:
        return r"(?!)"
    return _node(root, top=True, partial=partial)


def _tail(marker: str) -> str:
    return _CLOSING_TAIL if marker.lstrip().startswith("</") else TAIL


def _node(node: dict[str, Any], *, top: bool, partial: bool) -> str:
    at_end = r"|\Z" if partial else ""
    branches = []
    for char, child in node.items():
        if len(char) > 1:  # a tail
            branches.append(f"(?:>|{char}(?:>{at_end}))")
        elif char:
            branches.append(re.escape(char) + _node(child, top=False, partial=partial))
    if top and len(branches) == 2:
        branches.append(_THIRD)
    if partial and not top and branches:
        branches.append(r"\Z")
    if node.get(""):
        branches.append(node[""])
    if "" in node:
        branches.append("")
    return branches[0] if len(branches) == 1 else "(?:" + "|".join(branches) + ")"
