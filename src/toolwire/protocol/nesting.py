"""Limits the nesting of JSON: backends crash on JSON that could still be read here."""

import json
from typing import Any

MAX_DEPTH = 200
"""Maximum nesting of a call's arguments. Python's own limit differs between versions."""
TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"

_loose = json.JSONDecoder(parse_int=str, parse_float=str).decode


def is_deeper(value: Any, most: int) -> bool:
    """Whether a decoded value is nested more than `most` levels deep. Does not recurse."""
    level = [value]
    for _ in range(most):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return False
        level = below
    return True


def is_deep_text(text: str) -> bool:
    """Whether `text`, which is JSON, is too deep for the arguments of a call."""
    if len(text) <= 2 * MAX_DEPTH or text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    try:
        return is_deeper(_loose(text), MAX_DEPTH + 1)  # what the innermost holds is a level, too
    except RecursionError:
        return True
