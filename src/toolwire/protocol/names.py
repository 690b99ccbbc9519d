"""Resolves a misspelt tool name if only one tool can be meant."""

import re
from collections.abc import Collection, Iterable, Mapping

_PREFIXES = ("functions.", "function.", "tools.", "tool.")
_NUMBER = re.compile(r":[0-9]{1,4}\Z")
"""As in `functions.read:0`, which is how some models number their calls."""


def resolve(
    name: str, tools: Collection[str], spellings: Mapping[str, list[str]] | None = None
) -> str | None:
    """The tool this name stands for: itself, or the only one that differs by case, separators, a
    namespace or a number. Never a guess by likeness.

    Who asks often has the `spellings` of the tools at hand.
    """
    if name in tools:
        return name
    forms = _forms(name)
    for form in forms:
        if form in tools:
            return form
    known = spellings_of(tools) if spellings is None else spellings
    wanted = {folded(form) for form in forms}
    matches = [tool for spelling in wanted for tool in known.get(spelling, ())]
    return matches[0] if len(matches) == 1 else None


def spellings_of(tools: Iterable[str]) -> dict[str, list[str]]:
    """The tools by what the spellings of their names have in common."""
    found: dict[str, list[str]] = {}
    for tool in tools:
        found.setdefault(folded(tool), []).append(tool)
    return found


def _forms(name: str) -> list[str]:
    """The name, and what is left of it without a namespace or a number."""
    parts = dict.fromkeys((name, _NUMBER.sub("", name)))
    return list(dict.fromkeys(p.removeprefix(prefix) for p in parts for prefix in ("", *_PREFIXES)))


def folded(name: str) -> str:
    """The name without what spellings of it differ by: case and separators."""
    return name.casefold().replace("-", "").replace("_", "").replace(".", "").replace(" ", "")
