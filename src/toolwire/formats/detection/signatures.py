"""The signs that calls of any format may begin with, and the formats that use them.

There are two kinds of signs: those that count anywhere in an answer, and those that count only at
its start, because elsewhere they are plain text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from toolwire.formats.catalog import FORMATS
from toolwire.formats.channels import Channels
from toolwire.formats.declared_tools import DeclaredTools
from toolwire.formats.engines.head_json import HeadJson
from toolwire.formats.lexer import Lexer
from toolwire.formats.markers import MarkerSet
from toolwire.formats.quotes import FENCE
from toolwire.formats.record import Format

_BARE = ("[", "{")
_STRUCTURE = re.compile(r"[<\[\]-]")


@dataclass(frozen=True, slots=True)
class Signatures:
    """`rare` quickly tells whether a piece of text can contain a sign.

    `by_name` are the formats whose answers may begin with a line that is the name of a tool.
    """

    anywhere: Lexer
    at_start: Lexer
    rare: re.Pattern[str]
    formats: dict[str, tuple[Format, ...]]
    by_name: tuple[Format, ...]

    def candidates(self, sign: str) -> tuple[Format, ...]:
        """Return the formats whose calls may begin with this sign."""
        found = [one for key, ones in self.formats.items() if sign.startswith(key) for one in ones]
        if sign in _BARE:
            found.sort(key=lambda record: bool(record.models))  # prefer those of no single model
        return tuple(dict.fromkeys(found))


def is_structure(sign: str) -> bool:
    """Whether a sign counts anywhere in a line. Others are words, and must begin the line."""
    return _STRUCTURE.match(sign) is not None


@lru_cache(maxsize=1)
def signatures() -> Signatures:
    """Return the signs of all formats. Built once, in about 0.1 s.

    `cline_xml` is excluded, because its signs are the names of tools: `<search>` or `<table>` in an
    answer about XML is not evidence of a call, and every request would need its own signs. It is
    parsed only if it is configured.
    """
    tools = DeclaredTools()
    formats: dict[str, tuple[Format, ...]] = {}
    anywhere: dict[str, str] = {}
    at_start: dict[str, str] = {}
    loose: set[str] = set()
    for record in FORMATS.values():
        framing = record.framing.for_tools(tools)
        loose.update(framing.loose if isinstance(framing, MarkerSet) else ())
        for sign, kind in _signs(framing):
            (at_start if kind == "start" else anywhere)[sign] = kind
            formats[sign] = (*formats.get(sign, ()), record)
    firsts = re.escape("".join(sorted({sign[0] for sign in anywhere})))
    loose &= anywhere.keys()
    every = Lexer({**at_start, **anywhere}, loose)
    by_name = tuple(record for record in FORMATS.values() if begins_with_a_name(record))
    return Signatures(Lexer(anywhere, loose), every, re.compile(f"[{firsts}]"), formats, by_name)


def begins_with_a_name(record: Format) -> bool:
    """Whether a call may begin with a line that is a name, and only JSON may follow."""
    framing, engine = record.framing, record.engine
    named = isinstance(framing, Channels) and framing.named == "\n"
    return named and isinstance(engine, HeadJson) and engine.raw is None


def _signs(framing: object) -> Iterator[tuple[str, str]]:
    """Yield the signs of a format, and where each counts."""
    if isinstance(framing, MarkerSet):
        for marker in (*framing.opens, *framing.sections, *framing.bare):
            if marker in _BARE:
                yield marker, "start"
                yield f"\n{marker}", "any"
            elif marker[0].isspace():  # too common to search for everywhere
                yield marker, "start"
            elif marker not in framing.bare or not marker.startswith(FENCE):  # else it is Markdown
                yield marker, "any"
    elif isinstance(framing, Channels):
        for marker in (*framing.starts, *framing.inner):
            yield marker, "any"
        for marker in framing.first:
            if not marker.isspace():
                yield marker, "start"
