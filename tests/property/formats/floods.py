"""What a model writes that has lost its way: the same for ever, or pieces in any order."""

from cases import cases_of
from hypothesis import strategies as st

from toolwire.formats import get

# Openers, and how far something like a call is written behind them.
OPENERS = ("<tool_call>", "[a(", '{"', "<think>", "/", "[", "{", "[{", '[{"', '{"a":', "[[", "{{")
OPENERS += ("[a", '["', "[1] ", "{} ", "[\n", "{\n", "[x](y) ", "[a, b] ", "`", "```", "<", "<|")
BEHIND = ("", "a", '{"', "[a(", "\n")
FRAGMENTS = ["a", " ", "\n", '"', "'", "{", "}", "[", "]", "(", ")", "<", ">", ":", ",", "=", "\\"]
FRAGMENTS += ["`", "```", "\\u00", "1", "name", '{"name": "get_time", "arguments": {', "tz", "😀"]


def own(name: str) -> list[str]:
    """Openers and other markers of a format, with what is no call behind them."""
    return [marker + text for marker in get(name).framing.markers()[:4] for text in BEHIND]


def repeat(flood: str, size: int) -> str:
    return (flood * (size // len(flood) + 1))[:size]


def hostile_texts(name: str) -> st.SearchStrategy[str]:
    """Texts of a format's own markers and pieces of its cases, in any order."""
    pieces = [piece for case in cases_of(name)[:30] for piece in _pieces(case.text)]
    markers = [m for marker in get(name).framing.markers() for m in (marker, marker[:-1])]
    return st.lists(st.sampled_from([*FRAGMENTS, *markers, *pieces]), max_size=14).map("".join)


def _pieces(text: str) -> list[str]:
    third = len(text) // 3 or 1
    return [text, text[:third], text[third:], text[third : 2 * third]]
