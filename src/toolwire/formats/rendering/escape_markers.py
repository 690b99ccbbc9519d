"""Escapes a format's markers in untrusted text, so that it cannot forge structure.

A tool result that quotes `<tool_call>` or `</tool_response>` would otherwise open a call or close
the result. The first character of each marker becomes a visible escape. Everything else stays the
same, so people and models can still read the text. A JSON string uses JSON's own escape, so its
value does not change.

Calls are parsed only from the model's output in this turn, never from a prompt, so untrusted text
alone cannot become a call. But the model may repeat it, and then it must not contain a marker.
Calls in a bare format, such as `[f(a=1)]` or `{"name": ...}`, have no marker: see
`escape_calls.py`.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec.structs import replace

from toolwire.formats.record import Format

# Turn boundaries of common chat templates: untrusted text must not inject a turn, whatever the
# format. Boundaries of the usual shape, `<|...|>`, need no list.
_TURNS = (
    "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<s>", "</s>", "[INST]", "[/INST]",
    "<<SYS>>", "<</SYS>>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[gMASK]", "<sop>", "<eop>",
    "<seed:bos>", "<seed:eos>", "]~b]", "]~!b[", "[e~[", "<SPECIAL_10>", "<SPECIAL_11>",
    "<SPECIAL_12>", "<tool_response>", "</tool_response>", "[|system|]", "[|user|]",
    "[|assistant|]", "[|endofturn|]",
)  # fmt: skip
# One character before the repetition, because `re` skips a branch by its first character only if
# no repetition begins with it.
_CONTROL = r"[|｜][^<>\s]{1,64}+>|[^<>\s|｜][^<>\s|｜]{0,63}+[|｜]>"
_TAG = re.compile(r"<[^<>\s{}]{1,48}+(?:>|(?=\s))|\[/?+[A-Z_]{3,24}+\]")
_PIECE = 1 << 16  # a search holds the GIL, so each one is kept short
_LOOK = 128  # no marker is longer
_FENCE = "```"  # ends a call of one format, and is not structure anywhere else
_NUMBER = re.compile("[0-9]++")
_ANY_CONTROL = re.compile("<(?:" + _CONTROL + ")")
_MOST = 256  # each may add an alternative to check at every "<"
_SHARED = 3  # how many characters of a marker may be shared with others


def neutralize(record: Format, text: str) -> str:
    """Escape the markers of the format, and of turns, in `text`."""
    return broken_up(_pattern(record), text)


def break_up(marks: tuple[str, ...], text: str) -> str:
    """Escape these marks, and the markers of turns, in `text`."""
    return broken_up(_pattern_of(marks), text)


@lru_cache(maxsize=128)
def guarded(record: Format, marks: tuple[str, ...]) -> Format:
    """Return the format for a prompt in which `marks` must not come from untrusted text either."""
    if not marks:
        return record
    return replace(record, special_tokens=(*record.special_tokens, *_distinct(marks)))


def broken_up(pattern: re.Pattern[str], text: str) -> str:
    """Replace the first character of each match by a visible escape."""
    find, size = pattern.finditer, len(text)
    out: list[str] = []
    taken = 0
    for start in range(0, size, _PIECE):
        end = min(start + _PIECE, size)
        for match in find(text, start, end + _LOOK):
            at = match.start()
            if at >= end:
                break
            out.append(f"{text[taken:at]}\\u{ord(text[at]):04x}")
            taken = at + 1
    return "".join(out) + text[taken:] if out else text


@lru_cache(maxsize=128)
def _pattern(record: Format) -> re.Pattern[str]:
    """Finds the first character of every marker, including overlapping ones."""
    own = record.framing.markers()
    results = record.results
    written = _TAG.findall(" ".join((results.result, results.before, results.after)))
    markers = {marker.strip() for marker in (*own, *written, *record.special_tokens, *_TURNS)}
    return _first_characters(m for m in markers if len(m) > 1 and m != _FENCE)


@lru_cache(maxsize=128)
def _pattern_of(marks: tuple[str, ...]) -> re.Pattern[str]:
    return _first_characters({*_distinct(marks), *_TURNS})


def _distinct(marks: Iterable[str]) -> list[str]:
    """Remove marks that are covered by the general pattern. Of numbered marks, of which tokenizers
    may have thousands, one represents all."""
    shapes = (_NUMBER.sub("0", mark) for mark in marks if not _ANY_CONTROL.fullmatch(mark))
    return list(dict.fromkeys(shapes))[:_MOST]


def _first_characters(markers: Iterable[str]) -> re.Pattern[str]:
    """One branch per first character, which is fast to find, with the rest as a lookahead.

    A flood of "<" tries every alternative at every character, so there should be few: what the
    general pattern covers needs none, and markers that begin alike share one.
    """
    rests: dict[str, set[str]] = {"<": set()}
    for marker in markers:
        if not _ANY_CONTROL.match(marker):
            rests.setdefault(marker[0], set()).add(_NUMBER.sub("0", marker[1:]))
    branches = {c: _alternatives(sorted(rests[c]), _SHARED) for c in sorted(rests)}
    branches["<"].insert(0, _CONTROL)
    return re.compile("|".join(f"{re.escape(c)}(?={'|'.join(r)})" for c, r in branches.items()))


def _alternatives(texts: list[str], shared: int) -> list[str]:
    """Patterns for the texts, with so many of their first characters shared; "0" is any number."""
    longer: dict[str, list[str]] = {}
    for text in texts:
        longer.setdefault(text[:1], []).append(text[1:])
    if "" in longer:
        return [""]  # every other text begins with this one
    if not shared:
        return [re.escape(text).replace("0", "[0-9]{1,9}+") for text in texts]
    return [
        re.escape(char).replace("0", "[0-9]{1,9}+") + _any_of(_alternatives(rest, shared - 1))
        for char, rest in longer.items()
    ]


def _any_of(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"
