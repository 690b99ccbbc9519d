"""A tool name that no tool has: which one is meant, if only one can be meant."""

import re
from collections.abc import Collection

_PREFIXES = ("functions.", "function.", "tools.", "tool.")
_NUMBER = re.compile(r":[0-9]{1,4}\Z")
"""As in `functions.read:0`, which is how some models number their calls."""


def resolve(name: str, tools: Collection[str]) -> str | None:
    """The tool this name stands for: itself, or the only one that differs by case, separators, a
    namespace or a number. Never a guess by likeness."""
    if name in tools:
        return name
    forms = _forms(name)
    for form in forms:
        if form in tools:
            return form
    wanted = {folded(form) for form in forms}
    matches = [tool for tool in tools if folded(tool) in wanted]
    return matches[0] if len(matches) == 1 else None


def _forms(name: str) -> list[str]:
    """The name, and what is left of it without a namespace or a number."""
    bare = _NUMBER.sub("", name)
    return [part.removeprefix(prefix) for part in (name, bare) for prefix in ("", *_PREFIXES)]


def folded(name: str) -> str:
    """The name without what spellings of it differ by: case and separators."""
    return name.casefold().replace("-", "").replace("_", "").replace(".", "").replace(" ", "")
