"""A tool name that no tool has: which one is meant, if only one can be meant."""

from collections.abc import Collection

_PREFIXES = ("functions.", "function.", "tools.", "tool.")


def resolve(name: str, tools: Collection[str]) -> str | None:
    """The tool this name stands for: itself, or the only one that differs by case, separators or
    a namespace. Never a guess by likeness."""
    if name in tools:
        return name
    for prefix in _PREFIXES:
        if name.removeprefix(prefix) in tools:
            return name.removeprefix(prefix)
    wanted = {_folded(name)} | {_folded(name.removeprefix(prefix)) for prefix in _PREFIXES}
    matches = [tool for tool in tools if _folded(tool) in wanted]
    return matches[0] if len(matches) == 1 else None


def _folded(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(".", "").replace(" ", "")
