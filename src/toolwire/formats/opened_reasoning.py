"""Reasoning that a prompt has opened.

Some chat templates end a prompt inside reasoning, so the model's answer begins inside it. The
opening is then put in front of the answer. The text is complete that way: a parser of any format,
a detector, and a replay need no further state. The markers come from the records of all formats.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from toolwire.formats.catalog import FORMATS
from toolwire.formats.lexer import TAIL
from toolwire.formats.markers import MarkerSet

_LOOK = 96  # no opening is longer, with the whitespace behind it


class _Openings(NamedTuple):
    """Every opening of reasoning, and how each is closed. A loose one may carry a tail."""

    pattern: re.Pattern[str]
    closing: dict[str, str]
    loose: dict[str, str]


def opened_reasoning(prompt: str) -> tuple[str, str]:
    """Return the opening of reasoning at the end of a prompt and what closes it, or ("", "")."""
    openings = _openings()
    found = openings.pattern.search(prompt, max(0, len(prompt) - _LOOK))
    if found is None:
        return "", ""
    if found["tail"]:
        return found.group(), f"{openings.loose[found['loose']]}{found['tail']}>"
    return found.group(), openings.closing[found["plain"]]


@lru_cache(maxsize=1)
def _openings() -> _Openings:
    closing: dict[str, str] = {}
    loose: dict[str, str] = {}
    for opening, close, is_loose in _pairs():
        closing.setdefault(opening, close)
        if is_loose:
            loose.setdefault(opening[:-1], close[:-1])
    tailed = rf"(?P<loose>{_any(loose)})(?P<tail>{TAIL})>"
    return _Openings(re.compile(rf"(?:{tailed}|(?P<plain>{_any(closing)}))\s*\Z"), closing, loose)


def _pairs() -> Iterator[tuple[str, str, bool]]:
    """Yield each opening, what closes it, and whether both are loose."""
    for framing in (record.framing for record in FORMATS.values()):
        if isinstance(framing, MarkerSet):
            for around in framing.reasoning:
                for opening in around.opens:
                    yield opening.rstrip(), around.closes[0], opening in framing.loose


def _any(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, texts))
