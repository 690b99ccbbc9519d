"""The literal texts that frame the calls of a format, and the lexers built from them. Data only."""

import re
from functools import lru_cache
from typing import Literal

import msgspec

from toolwire.formats.lexer import Lexer
from toolwire.formats.quoting.quotes import FENCE
from toolwire.formats.turn_state import FormatEngine

REFERENCES = 64  # maximum length of a citation tag
_DOUBLED = 8  # maximum repeated openers to look past for a call
_TOKEN = re.compile(r"<[|｜][^<>]*+>|<[^<>|｜]++[|｜]>|\[[A-Z_]++\]")
TURN_ENDS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|eos|>",
    "<|observation|>",
    "<|user|>",
    "<|return|>",
    "<|end_of_msg|>",
    "<|end_of_sentence|>",
    "<|endofresponse|>",
    "<|message_sep|>",
    "<|EOT|>",
    "<|content_model_end_sampling|>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",
    "<turn|>",
    "<end_of_turn>",
    "<eos>",
    "<end_of_sentence>",
    "<SPECIAL_12>",
    "<seed:eos>",
    "[e~[",
    "</longcat_s>",
    "<|role_end|>",
    "</s>",
)
"""The tokens that end a turn, which some servers pass on. After a call they are never text. While
the format is unknown, they are not text at the end of an answer either."""
TAGGED_TURN_ENDS = tuple(token for token in TURN_ENDS if token[0] == "<")
"""Those that are looked for in all text. A bracket is too common there: it would end every run of
openers that is skipped in one search."""
LAYOUT = 16  # maximum whitespace between or after calls that counts as layout


class Reasoning(msgspec.Struct, frozen=True):
    """The markers around reasoning. The first of `closes` is the usual one.

    `words` are those in plain English. They open reasoning only at the start of the answer, and
    close only what they opened.
    """

    opens: tuple[str, ...]
    closes: tuple[str, ...]
    words: frozenset[str] = frozenset()


def thinking(name: str = "think") -> tuple[Reasoning, ...]:
    """`<think>...</think>` with the newlines that templates put around it."""
    closes = tuple(f"{a}</{name}>{b}" for a in ("", "\n") for b in ("\n\n", "\n", ""))
    return (Reasoning((f"<{name}>\n", f"<{name}>"), closes),)


_THINK = (Reasoning(("<think>\n", "<think>"), ("</think>\n\n", "</think>\n", "</think>")),)
"""For formats whose own models do not write it. No newline begins a marker in these, because in
most a call may begin behind any newline."""


class MarkerSet(msgspec.Struct, frozen=True, eq=False):
    """The markers of a format.

    `opens` come before a call, `ends` after one. `sections` wrap calls and carry no meaning.
    `bare` openers belong to the call itself ("[", "{"), so only known tools count, or, with
    `bare_start`, anything of the right shape at the start of the answer. `drop` is never shown.
    `loose` tags may carry a tail before ">". `strict`: openers are so common that only known tools
    count. `citations` begin reference tags that are not shown. `inside` reads calls in a section
    without an opener, usually as JSON.
    """

    opens: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    bare_start: Literal["known", "any"] = "known"
    drop: tuple[str, ...] = ()
    reasoning: tuple[Reasoning, ...] = _THINK
    """By default `<think>`, which models of any format write."""
    reasoning_calls: Literal["last", "count"] = "last"
    """Whether a call in reasoning counts only as the last thing written, or always, because the
    model makes its calls there."""
    loose: tuple[str, ...] = ()
    strict: bool = False
    citations: tuple[str, ...] = ()
    echoes: bool = False
    """The model is known to repeat its calls after their end marker."""
    inside: FormatEngine | None = None
    unopened: tuple[str, ...] = ("{", "[")
    """What the calls begin with that `inside` reads."""

    def stop(self) -> Lexer:
        """The markers that end a malformed call."""
        return _stop_lexer(self)

    def lexers(self, engine: FormatEngine) -> "MarkerLexers":
        """Return the lexers of each state, for calls that this engine reads."""
        return _lexers(self, engine)

    def markers(self) -> tuple[str, ...]:
        """Every structural marker, to be escaped in untrusted text.

        A loose tag is listed by its prefix, since anything may follow. Plain words and openers that
        contain another one are left out.
        """
        around = (one for one in _reasoning_kinds(self) if one not in _words(self))
        opens = (one for one in self.opens if not any(map(one[1:].__contains__, self.opens)))
        every = (*opens, *self.ends, *self.sections, *self.drop, *around)
        return tuple(marker[:-1] if marker in self.loose else marker for marker in every)

    def hold_limit(self) -> int:
        """The maximum number of plain-text characters held back."""
        tail = REFERENCES if self.citations else 0
        return max(map(len, _content_kinds(self)), default=1) - 1 + LAYOUT + tail


class MarkerLexers(msgspec.Struct, frozen=True):
    """The lexers of each state. `unlike` says why a skipped opener is not a call.

    `words` are the markers of reasoning that are plain words.
    """

    content: Lexer
    reasoning: Lexer
    region: Lexer
    ends: Lexer
    unlike: str
    words: frozenset[str]


@lru_cache(maxsize=256)
def _lexers(markers: MarkerSet, engine: FormatEngine) -> MarkerLexers:
    loose, calls = markers.loose, _call_kinds(markers)
    bare = _kinds(bare=markers.bare)
    words = _words(markers)
    around = {
        marker: kind
        for marker, kind in _reasoning_kinds(markers).items()
        if kind == "unthink" or marker not in words
    }
    swallowed = _kinds(end=markers.ends, drop=markers.drop)
    cited = _kinds(citation=markers.citations)
    begins = _begins(markers, engine)
    marked = {opener: text for opener, text in begins.items() if opener not in bare}
    return MarkerLexers(
        content=Lexer(_content_kinds(markers), loose, begins),
        reasoning=Lexer({**cited, **around, **calls}, loose, marked),
        region=Lexer({**_kinds(end=TURN_ENDS), **swallowed, **bare, **calls}, loose),
        ends=Lexer(swallowed, loose),
        unlike=engine.begins(bare=False).why,
        words=words,
    )


@lru_cache(maxsize=256)
def _stop_lexer(markers: MarkerSet) -> Lexer:
    tags = tuple(marker for marker in markers.bare if len(marker) > 1)
    kinds = _kinds(end=markers.ends, drop=markers.drop, bare=tags)
    return Lexer({**kinds, **_call_kinds(markers)}, markers.loose)


def _content_kinds(markers: MarkerSet) -> dict[str, str]:
    tokens = tuple(end for end in markers.ends if is_token(end))
    kinds = _kinds(drop=(*tokens, *markers.drop), citation=markers.citations)
    return {
        **_kinds(turn_end=TAGGED_TURN_ENDS),
        **kinds,
        **_reasoning_kinds(markers),
        **_kinds(bare=markers.bare),
        **_call_kinds(markers),
    }


def _reasoning_kinds(markers: MarkerSet) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for around in markers.reasoning:
        kinds |= _kinds(unthink=around.closes, think=around.opens)
    return kinds


def _words(markers: MarkerSet) -> frozenset[str]:
    return frozenset(word for around in markers.reasoning for word in around.words)


def _call_kinds(markers: MarkerSet) -> dict[str, str]:
    return _kinds(open=markers.opens, section=markers.sections)


def _kinds(**markers: tuple[str, ...]) -> dict[str, str]:
    return {marker: kind for kind, group in markers.items() for marker in group}


def is_token(marker: str) -> bool:
    """Whether a marker looks like a special token, so that it does not occur by chance."""
    return _TOKEN.fullmatch(marker) is not None


def _begins(markers: MarkerSet, engine: FormatEngine) -> dict[str, str]:
    """The pattern of each opener that may begin a call. A leading fence is always allowed."""
    behind = engine.begins(bare=False).pattern
    ends = _kinds(end=markers.ends)
    found = dict.fromkeys(markers.bare, engine.begins(bare=True).pattern)
    for opener in markers.opens:
        doubled = rf"(?:{re.escape(opener)}\s{{0,{LAYOUT}}}+){{1,{_DOUBLED}}}+"
        again = Lexer({opener: "open", **(ends if is_token(opener) else {})}).ahead
        found[opener] = behind and f"{doubled}(?:{again}|{behind})"
    sure = {*markers.loose, *(opener for opener in markers.bare if FENCE in opener)}
    return {opener: text for opener, text in found.items() if text and opener not in sure}
