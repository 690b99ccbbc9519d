"""The catalogue's patterns of model names, as names that people can read and search for."""

import re
from collections.abc import Iterator

_LOOKAHEAD = re.compile(r"\(\?!.*$")  # each is at the end of its pattern
_PART = re.compile(r"\((?P<group>[^()]*)\)(?P<optional>\?)?|\[(?P<characters>[^\]]*)\]")


def readable(pattern: str) -> list[str]:
    """The names that a pattern stands for. An ellipsis stands for any text."""
    text = _LOOKAHEAD.sub("", pattern).replace(r"\b", "").replace(".*", "…")
    text = re.sub(r"-\?(?=[\d\[])", "", text).replace("-?", "-")
    return [name.replace("\\", "").strip("…") for name in _expand(text)]


def _expand(text: str) -> Iterator[str]:
    found = _PART.search(text)
    if found is None:
        yield text
        return
    before, after = text[: found.start()], text[found.end() :]
    for choice in _choices(found):
        yield from _expand(before + choice + after)


def _choices(found: re.Match[str]) -> list[str]:
    if found["characters"] is not None:
        return _characters(found["characters"])
    group = str(found["group"])
    if found["optional"] and re.search(r"\\d|\[", group):
        return [""]  # a version in between
    return [*([""] if found["optional"] else []), *group.split("|")]


def _characters(text: str) -> list[str]:
    span = re.fullmatch(r"(\d)-(\d)", text)
    if span is not None:
        return [str(digit) for digit in range(int(span[1]), int(span[2]) + 1)]
    return list(text)
