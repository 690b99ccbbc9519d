"""The signs that calls of any format may begin with, and the formats that use them.

There are two kinds of signs: those that count anywhere in an answer, and those that count only at
its start, because elsewhere they are plain text. The names of tools are signs, too: `name` on a
line by itself at the start, and the tag `<name>` at the start of any line. So are the tokens that
end a turn: no call begins there, but they are not shown (`turn_ends.py`).
"""

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from toolwire.formats.catalog import FORMATS
from toolwire.formats.channels import Channels
from toolwire.formats.framing import ToolMarkers
from toolwire.formats.lexer import Lexer
from toolwire.formats.markers import TURN_ENDS, MarkerSet
from toolwire.formats.quoting.quotes import FENCE
from toolwire.formats.record import Format
from toolwire.formats.tools.declared_tools import DeclaredTools

_BARE = ("[", "{")
TAG = "\n<"
"""The sign of a tag at the start of a line, which may be named after a tool."""
_STRUCTURE = re.compile(r"[<>\[\]-]")


class Signatures(msgspec.Struct, frozen=True):
    """`rare` quickly tells whether a piece of text can contain a sign.

    `lines` are the formats whose calls begin with a line that is a tool's name, `tags` those whose
    calls begin with a tag of that name.
    """

    anywhere: Lexer
    at_start: Lexer
    rare: re.Pattern[str]
    formats: dict[str, tuple[Format, ...]]
    lines: tuple[Format, ...]
    tags: tuple[Format, ...]

    def candidates(self, sign: str) -> tuple[Format, ...]:
        """Return the formats whose calls may begin with this sign."""
        found = [one for key, ones in self.formats.items() if sign.startswith(key) for one in ones]
        if sign in _BARE:
            found.sort(key=lambda record: bool(record.models))  # prefer those of no single model
        return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1)
def without_tags() -> Lexer:
    """Return the signs that count anywhere, except tags. Few answers need it."""
    anywhere = signatures().anywhere
    kinds = {sign: kind for sign, kind in anywhere.kinds.items() if sign != TAG}
    return Lexer(kinds, anywhere.loose)


def is_structure(sign: str) -> bool:
    """Whether a sign counts anywhere in a line. Others are words, and must begin the line."""
    return _STRUCTURE.match(sign) is not None


@lru_cache(maxsize=1)
def signatures() -> Signatures:
    """Return the signs of all formats. Built once, in about 0.1 s."""
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
    loose &= anywhere.keys()
    every = Lexer({**at_start, **anywhere}, loose)
    anywhere = {**dict.fromkeys(TURN_ENDS, "end"), **anywhere, TAG: "any"}
    firsts = re.escape("".join(sorted({sign[0] for sign in anywhere})))
    records = FORMATS.values()
    lines = tuple(one for one in records if getattr(one.framing, "named", "") == "\n")
    tags = tuple(one for one in records if isinstance(one.framing, ToolMarkers))
    rare = re.compile(f"[{firsts}]")
    return Signatures(Lexer(anywhere, loose), every, rare, formats, lines, tags)


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
        for marker in (*framing.starts, *filter(is_structure, framing.inner)):
            yield marker, "any"
        for marker in framing.first:
            if not marker.isspace():
                yield marker, "start"
