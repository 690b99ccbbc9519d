"""By what calls of any format of the catalogue may begin, and which formats those are.

Signs of two kinds: those that may stand anywhere in an answer, and those that count only where it
begins, because elsewhere they are plain text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from toolwire.formats.catalog import FORMATS
from toolwire.formats.channels import Channels
from toolwire.formats.declared_tools import DeclaredTools
from toolwire.formats.lexer import Lexer
from toolwire.formats.markers import MarkerSet
from toolwire.formats.record import Format

_BARE = ("[", "{")
_STRUCTURE = re.compile(r"[<\[\]]|-> ")


@dataclass(frozen=True, slots=True)
class Signatures:
    """`rare` finds whether a piece of text can hold a sign at all."""

    anywhere: Lexer
    at_start: Lexer
    rare: re.Pattern[str]
    formats: dict[str, tuple[Format, ...]]

    def candidates(self, sign: str) -> tuple[Format, ...]:
        """The formats whose calls may begin with this sign."""
        found = [one for key, ones in self.formats.items() if sign.startswith(key) for one in ones]
        if sign in _BARE:
            found.insert(0, FORMATS["json"])  # of all that read the same, the one of no model
        return tuple(dict.fromkeys(found))


def is_structure(sign: str) -> bool:
    """Whether a sign may stand anywhere in a line; others are words, and begin one."""
    return _STRUCTURE.match(sign) is not None


@lru_cache(maxsize=1)
def signatures() -> Signatures:
    """The signs of all formats, made once, which takes 0.1 s.

    Without `cline_xml`, whose signs are the names of tools: `<search>` or `<table>` in an answer
    about XML says nothing about how the model calls, and each request would have signs of its own.
    It is read only where it is expected.
    """
    tools = DeclaredTools()
    formats: dict[str, tuple[Format, ...]] = {}
    anywhere: dict[str, str] = {}
    at_start: dict[str, str] = {}
    for record in FORMATS.values():
        framing = record.framing.for_tools(tools)
        for sign, kind in _signs(framing):
            (at_start if kind == "start" else anywhere)[sign] = kind
            formats[sign] = (*formats.get(sign, ()), record)
    firsts = re.escape("".join(sorted({sign[0] for sign in anywhere})))
    every = Lexer({**at_start, **anywhere})
    return Signatures(Lexer(anywhere), every, re.compile(f"[{firsts}]"), formats)


def _signs(framing: object) -> Iterator[tuple[str, str]]:
    """The signs of a format, each with where it counts."""
    if isinstance(framing, MarkerSet):
        for marker in (*framing.opens, *framing.sections, *framing.bare):
            if marker in _BARE:
                yield marker, "start"
                yield f"\n{marker}", "any"
            elif marker[0].isspace():  # as common as words, so not looked for in all text
                yield marker, "start"
            elif marker != "```json":
                yield marker, "any"
    elif isinstance(framing, Channels):
        for marker in (*framing.starts, *framing.inner):
            yield marker, "any"
        for marker in framing.first:
            if not marker.isspace():
                yield marker, "start"
