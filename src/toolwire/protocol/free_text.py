"""The arguments of a tool that takes free text, however a model wraps it.

Such a tool is offered as a function with one string. Models forget the object around it, or give
its only member another name.
"""

import msgspec

_encode = msgspec.json.Encoder().encode
_JSON = ("{", "[")


def wrap_text(text: str, parameter: str) -> str:
    """The text as the arguments of a function."""
    return _encode({parameter: text}).decode()


def unwrap_text(arguments: str, parameter: str) -> str | None:
    """The text in the arguments; None if there is no telling."""
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        # What begins as JSON and is none may be half of it.
        return None if arguments.lstrip().startswith(_JSON) else arguments
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    said = value.get(parameter)
    if said is None and len(value) == 1:
        said = next(iter(value.values()))
    return said if isinstance(said, str) else None
