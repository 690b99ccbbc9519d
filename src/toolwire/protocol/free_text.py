"""Wraps and unwraps the arguments of a tool that takes free text.

Such a tool is offered as a function with one string parameter. Models often omit the enclosing
object, or rename its only member.
"""

import msgspec

from toolwire.protocol.json_numbers import decode_any

_encode = msgspec.json.Encoder().encode
_JSON = ("{", "[")


def wrap_text(text: str, parameter: str) -> str:
    """Return `text` as the arguments of a function."""
    return _encode({parameter: text}).decode()


def unwrap_text(arguments: str, parameter: str) -> str | None:
    """Return the text in the arguments, or None if it is ambiguous."""
    try:
        value = decode_any(arguments)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        # Text that starts like JSON but is invalid may be truncated JSON.
        return None if arguments.lstrip().startswith(_JSON) else arguments
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    said = value.get(parameter)
    if said is None and len(value) == 1:
        said = next(iter(value.values()))
    return said if isinstance(said, str) else None
