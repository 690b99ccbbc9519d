"""Resolves a misspelled tool name if it is unambiguous."""

import re
from collections.abc import Collection, Iterable, Mapping

_PREFIXES = (
    "functions.", "function.", "tools.", "tool.", "functions::", "functions/", "default_api.",
    "default_api:",
)  # fmt: skip
_MARKER = "<|"
"""Begins a token of the model's format, which a server has left behind the name."""
_AROUND = " \t\r\n\"'`"
_NUMBER = re.compile(r":[0-9]{1,4}\Z")
"""As in `functions.read:0`: some models number their calls."""


def resolve(
    name: str, tools: Collection[str], spellings: Mapping[str, list[str]] | None = None
) -> str | None:
    """Return the tool that `name` means: an exact match, or the only tool that differs just in
    case, separators, a namespace, a number or what the model wrote around it. There is no fuzzy
    matching.

    Pass precomputed `spellings` to resolve many names.
    """
    if name in tools:
        return name
    if not tools:
        return None
    forms = _forms(name)
    for form in forms:
        if form in tools:
            return form
    known = spellings_of(tools) if spellings is None else spellings
    wanted = {folded(form) for form in forms}
    matches = [tool for spelling in wanted for tool in known.get(spelling, ())]
    return matches[0] if len(matches) == 1 else None


def spellings_of(tools: Iterable[str]) -> dict[str, list[str]]:
    """Map each normalized name to the tools that share it."""
    found: dict[str, list[str]] = {}
    for tool in tools:
        found.setdefault(folded(tool), []).append(tool)
    return found


def _forms(name: str) -> list[str]:
    """Return the name, with and without its namespace, its number and what is around it."""
    bare = name.partition(_MARKER)[0].strip(_AROUND) or name
    parts = dict.fromkeys((name, _NUMBER.sub("", name), bare, _NUMBER.sub("", bare)))
    return list(dict.fromkeys(p.removeprefix(prefix) for p in parts for prefix in ("", *_PREFIXES)))


def folded(name: str) -> str:
    """Normalize a name: ignore case and separators."""
    return name.casefold().replace("-", "").replace("_", "").replace(".", "").replace(" ", "")
