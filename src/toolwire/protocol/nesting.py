"""How deep is this JSON? Backends crash on what we could still read, so there is a limit."""

from typing import Any

import msgspec

from toolwire.errors import RequestError
from toolwire.protocol.explain import decode

_any = msgspec.json.Decoder()


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


def check_nesting(raw: bytes, where: str, most: int) -> None:
    """Refuse JSON that is too deep. Most has too few brackets to look further."""
    if raw.count(b"[") + raw.count(b"{") < most:
        return
    if is_deeper(decode(_any, raw, where), most):
        raise RequestError(
            f"Invalid '{where}': it is nested more than {most} levels deep.",
            param=where,
            code="invalid_value",
        )
