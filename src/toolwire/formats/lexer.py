"""Finds markers in text that arrives in pieces, and holds back the least possible.

All markers of a state are compiled into one regular expression shaped like a trie, in which every
inner node may also end at the end of the buffer. One search then answers both questions: where is
the leftmost, longest marker, and does the buffer end in what may become one? The trie has no
repetition, so a search cannot backtrack further than the longest marker.

An opener that nothing like a call stands behind is passed over in the same search, and so are more
of its kind close behind it: a flood of openers is a few searches, and not as many calls that fail.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from toolwire.formats.reader import Need, Reader

_TAIL = r"[:/\w]{1,32}+"
_NEAR = 16  # so many plain characters may stand between openers that are passed over together
NO_CALL = "an opener of no call"  # stands for these in place of a marker, and is their kind


class Lexer:
    """The live markers of one state, each with a kind.

    A marker in `loose` ends in ">" and may carry a tail before it: `</parameter1>`,
    `<tool_call:opensource>`. It is reported as the marker without the tail.

    `begins` has, for openers, the pattern of one that may begin a call. It matches short text, from
    the opener on, and where text is cut off but may go on to fit, it ends in `\\Z`.
    """

    __slots__ = (
        "_begins",
        "_extendable",
        "_final",
        "_loose",
        "_partial",
        "ahead",
        "kinds",
        "longest",
    )

    def __init__(
        self,
        kinds: Mapping[str, str],
        loose: Iterable[str] = (),
        begins: Mapping[str, str] | None = None,
    ) -> None:
        self.kinds = {**kinds, NO_CALL: NO_CALL} if begins else dict(kinds)
        self._loose = frozenset(loose)
        markers = list(kinds)
        self.longest = max(map(len, markers), default=0)
        self._extendable = {m for m in markers if any(o != m and o.startswith(m) for o in markers)}
        self._begins = {opener: re.compile(text) for opener, text in (begins or {}).items()}
        endings = _endings(markers, begins or {})
        self.ahead = _trie(markers, self._loose, endings, partial=True)
        self._partial = re.compile(self.ahead)
        self._final = re.compile(_trie(markers, self._loose, endings, partial=False))

    def search(self, reader: Reader) -> tuple[int, int, str]:
        """Where plain text ends, where the marker that follows it ends, and that marker.

        Without a marker the last is "": everything up to the first number is plain, the rest, if
        any, may be the beginning of one. Openers of no call are one marker, `NO_CALL`.
        """
        buf, final = reader.buf, reader.final
        match = (self._final if final else self._partial).search(buf, reader.pos)
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

    def read_to(self, reader: Reader, limit: int) -> Need[tuple[str, str, int] | None]:
        """The text up to the next marker, which must begin within `limit` characters.

        Returns the text, the marker and its length. Nothing is taken.
        """
        while True:
            buf, pos = reader.buf, reader.pos
            end = min(len(buf), pos + limit + self.longest + 40)
            match = (self._final if reader.final else self._partial).search(buf, pos, end)
            if match is not None and match.start() - pos <= limit:
                marker = self._marker(match.group())
                sure = reader.final or match.end() < len(buf) or marker not in self._extendable
                if marker and sure:
                    return buf[pos : match.start()], marker, match.end() - match.start()
            if reader.final or len(buf) - pos > limit + self.longest + 40:
                return None
            yield

    def at(self, reader: Reader, ahead: int = 0) -> Need[tuple[str, int]]:
        """The marker at the reader's position (plus `ahead`), and its length; ("", 0) if none."""
        while True:
            buf, pos = reader.buf, reader.pos + ahead
            if pos >= len(buf) and not reader.final:
                yield
                continue
            match = (self._final if reader.final else self._partial).match(buf, pos)
            if match is None:
                return "", 0
            marker = self._marker(match.group())
            sure = reader.final or match.end() < len(buf) or marker not in self._extendable
            if marker and sure:
                return marker, match.end() - pos
            if reader.final:
                return "", 0
            yield

    def begun(self, reader: Reader, ahead: int = 0) -> bool:
        """Whether the text ends, that far ahead, in the beginning of a marker."""
        start = reader.pos + ahead
        match = self._partial.match(reader.buf, start) if start < len(reader.buf) else None
        return match is not None and match.end() == len(reader.buf)

    def cut(self, reader: Reader) -> int:
        """Where the beginning of a marker stands in which the text ends, or the end.

        Asked when all text is there and no marker is in it any more.
        """
        match = self._partial.search(reader.buf, reader.pos)
        return match.start() if match and match.end() == len(reader.buf) else len(reader.buf)

    def _sure(self, marker: str, buf: str, start: int, end: int) -> bool:
        """Whether no more text can show that something else was found."""
        if (begins := self._begins.get(marker)) and (match := begins.match(buf, start)):
            return match.end() < len(buf)
        return end < len(buf) or marker not in self._extendable

    def _marker(self, found: str) -> str:
        if found in self.kinds:
            return found
        if self._loose and found.endswith(">"):
            fitting = (marker for marker in self._loose if found.startswith(marker[:-1]))
            return max(fitting, key=len, default="")
        return ""


def _endings(markers: Iterable[str], begins: Mapping[str, str]) -> dict[str, str]:
    """For openers: the pattern of what is passed over behind one of no call, with a group."""
    # A look back that looks ahead: the opener has been read, and is judged from where it began.
    refused = {m: f"(?<!(?={text}){re.escape(m)})" for m, text in begins.items()}
    if not refused:
        return {}
    firsts = re.escape("".join({marker[0] for marker in markers}))
    again = "|".join(
        re.escape(m) + _unless_longer(m, markers) + text for m, text in refused.items()
    )
    return {m: f"{text}(?:[^{firsts}]{{0,{_NEAR}}}+(?:{again}))*+()" for m, text in refused.items()}


def _unless_longer(marker: str, markers: Iterable[str]) -> str:
    """For a marker that others begin with: that none of these may be here instead."""
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
            node = node.setdefault("loose", {})
        node[""] = endings.get(marker, "")
    if not root:
        return r"(?!)"
    return _node(root, top=True, partial=partial)


def _node(node: dict[str, Any], *, top: bool, partial: bool) -> str:
    at_end = r"|\Z" if partial else ""
    branches = []
    for char, child in node.items():
        if char == "loose":
            branches.append(f"(?:>|{_TAIL}(?:>{at_end}))")
        elif char:
            branches.append(re.escape(char) + _node(child, top=False, partial=partial))
    if partial and not top and branches:
        branches.append(r"\Z")
    if node.get(""):
        branches.append(node[""])
    if "" in node:
        branches.append("")
    return branches[0] if len(branches) == 1 else "(?:" + "|".join(branches) + ")"
