"""The literal texts that frame the calls of a format, and the lexers made of them. No reading."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from toolwire.formats.lexer import Lexer
from toolwire.formats.quotes import FENCE
from toolwire.formats.turn_state import FormatEngine

REFERENCES = 64  # characters of a citation's tag
_DOUBLED = 8  # so many times an opener is looked past to see whether a call begins
_TOKEN = re.compile(r"<[|｜][^<>]*+>|<[^<>|｜]++[|｜]>|\[[A-Z_]++\]")
LAYOUT = 4  # this much whitespace between calls, or after the last, is the format's own


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The markers around reasoning.

    `words` of them are plain English: they open reasoning only where the answer begins, and close
    only what they opened.
    """

    opens: tuple[str, ...]
    closes: tuple[str, ...]
    words: frozenset[str] = frozenset()

    def tags(self) -> tuple[str, ...]:
        """The markers that are no words."""
        return tuple(one for one in (*self.opens, *self.closes) if one not in self.words)


def thinking(name: str = "think", *, left: str = "<", right: str = ">") -> Reasoning:
    """`<think>...</think>` with the newlines that templates put around it."""
    start, end = f"{left}{name}{right}", f"{left}/{name}{right}"
    closes = tuple(f"{a}{end}{b}" for a in ("\n", "") for b in ("\n\n", "\n", ""))
    return Reasoning((f"{start}\n", start), closes)


@dataclass(frozen=True, slots=True, eq=False)
class MarkerSet:
    """The markers of a format.

    `opens` come before a call, `ends` after one. `sections` wrap calls and carry no meaning.
    `bare` openers belong to the call itself ("[", "{"), so only known tools are taken, or, with
    `bare_start`, anything of the right shape that begins the answer. `drop` is never shown.
    `reasoning_calls`: a call in reasoning counts only as the last thing written, or always.
    `loose` tags may carry a tail before ">". `strict`: openers are so plain that only known tools
    are taken. `citations` begin tags of references that are not shown. `echoes`: the model may
    write its calls once more behind their end marker. `inside` reads what stands in a section where
    an opener should: the JSON of calls.
    """

    opens: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    bare_start: Literal["known", "any"] = "known"
    drop: tuple[str, ...] = ()
    reasoning: Reasoning | None = None
    reasoning_calls: Literal["last", "count"] = "last"
    loose: tuple[str, ...] = ()
    strict: bool = False
    citations: tuple[str, ...] = ()
    echoes: bool = False
    inside: FormatEngine | None = None

    def stop(self) -> Lexer:
        """The markers at which a malformed call is given up."""
        return _stop_lexer(self)

    def lexers(self, engine: FormatEngine) -> "MarkerLexers":
        """What is looked for in each state, for calls that this engine reads."""
        return _lexers(self, engine)

    def markers(self) -> tuple[str, ...]:
        """Every marker with a meaning, for those who must not forge one.

        Of a loose tag that is the beginning, since anything may follow. Plain words anyone may use.
        """
        around = self.reasoning.tags() if self.reasoning else ()
        every = (*self.opens, *self.ends, *self.sections, *self.drop, *around)
        return tuple(marker[:-1] if marker in self.loose else marker for marker in every)

    def hold_limit(self) -> int:
        """How many characters of plain text may be held back at most."""
        tail = REFERENCES if self.citations else 0
        return max(map(len, _content_kinds(self)), default=1) - 1 + LAYOUT + tail


@dataclass(frozen=True, slots=True)
class MarkerLexers:
    """What is looked for in each state; `unlike` says why an opener of no call is none."""

    content: Lexer
    reasoning: Lexer
    region: Lexer
    ends: Lexer
    unlike: str


@lru_cache(maxsize=256)
def _lexers(markers: MarkerSet, engine: FormatEngine) -> MarkerLexers:
    loose, calls = markers.loose, _call_kinds(markers)
    bare = _kinds(bare=markers.bare)
    around = markers.reasoning or Reasoning((), ())
    unthink = _kinds(unthink=around.closes)
    think = _kinds(think=tuple(one for one in around.opens if one not in around.words))
    swallowed = _kinds(end=markers.ends, drop=markers.drop)
    begins = _begins(markers, engine)
    marked = {opener: text for opener, text in begins.items() if opener not in bare}
    return MarkerLexers(
        content=Lexer(_content_kinds(markers), loose, begins),
        reasoning=Lexer({**unthink, **calls, **think}, loose, marked),
        region=Lexer({**swallowed, **bare, **calls}, loose),
        ends=Lexer(swallowed, loose),
        unlike=engine.begins(bare=False).why,
    )


@lru_cache(maxsize=256)
def _stop_lexer(markers: MarkerSet) -> Lexer:
    tags = tuple(marker for marker in markers.bare if len(marker) > 1)
    kinds = _kinds(end=markers.ends, drop=markers.drop, bare=tags)
    return Lexer({**kinds, **_call_kinds(markers)}, markers.loose)


def _content_kinds(markers: MarkerSet) -> dict[str, str]:
    kinds = _kinds(drop=markers.drop, citation=markers.citations)
    if around := markers.reasoning:
        kinds |= _kinds(unthink=around.closes, think=around.opens)
    return {**kinds, **_kinds(bare=markers.bare), **_call_kinds(markers)}


def _call_kinds(markers: MarkerSet) -> dict[str, str]:
    return _kinds(open=markers.opens, section=markers.sections)


def _kinds(**markers: tuple[str, ...]) -> dict[str, str]:
    return {marker: kind for kind, group in markers.items() for marker in group}


def is_token(marker: str) -> bool:
    """Whether a marker is written as special tokens are, so that nobody writes it by chance."""
    return _TOKEN.fullmatch(marker) is not None


def _begins(markers: MarkerSet, engine: FormatEngine) -> dict[str, str]:
    """The pattern of each opener that may begin a call. A fence in front of one always may."""
    behind = engine.begins(bare=False).pattern
    ends = _kinds(end=markers.ends)
    found = dict.fromkeys(markers.bare, engine.begins(bare=True).pattern)
    for opener in markers.opens:
        doubled = rf"(?:{re.escape(opener)}){{1,{_DOUBLED}}}+"
        again = Lexer({opener: "open", **(ends if is_token(opener) else {})}).ahead
        found[opener] = behind and f"{doubled}(?:{again}|{behind})"
    sure = {*markers.loose, *(opener for opener in markers.bare if FENCE in opener)}
    return {opener: text for opener, text in found.items() if text and opener not in sure}
