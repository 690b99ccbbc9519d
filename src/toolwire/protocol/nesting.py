"""How deep is this JSON? Backends crash on what we could still read, so there is a limit."""

from typing import Any

import msgspec


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


def raw_is_deeper(raw: bytes, most: int) -> bool:
    """The same for JSON that was read before. Most of it has too few brackets to look further."""
    return raw.count(b"[") + raw.count(b"{") >= most and is_deeper(msgspec.json.decode(raw), most)
