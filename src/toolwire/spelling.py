"""Suggestions for misspelt words."""

from collections.abc import Collection


def close_matches(word: str, known: Collection[str], n: int = 1) -> list[str]:
    """Return up to `n` known words that `word` may stand for, the closest first."""
    from difflib import get_close_matches  # noqa: PLC0415  only a mistake needs it

    return get_close_matches(word, known, n)
