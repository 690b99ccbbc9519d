"""Reads a chunk field by field if some fields have the wrong type.

It is used only for a chunk that the typed decoder rejected. Servers send `usage: ""`,
`logprobs: []` or `index: null` where the API has an object or a number, and the text next to them
must not be lost. An empty value (`""`, `[]`, `{}`, `false`, `0`) counts as missing in any field.
Other values are converted if possible. If not, they are dropped from fields that are not part of
the answer, and rejected in fields that are: dropping half of a call would change the call.
"""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar, get_args, get_origin

import msgspec

S = TypeVar("S", bound=msgspec.Struct)
_MOST_PARTS = 1000
"""The most elements to read one by one. No server sends as many."""


def tolerate(value: object, kind: type[S], needed: Collection[str]) -> S:
    """Return a struct of `kind` with the valid fields. Raises `ValidationError` if a `needed` field
    is invalid, at any level."""
    if not isinstance(value, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(value).__name__}`")
    return kind(**_fields(value, kind, needed))


def _fields(
    value: Mapping[str, Any], kind: type[msgspec.Struct], needed: Collection[str]
) -> dict[str, Any]:
    fields = {}
    for field in msgspec.structs.fields(kind):
        if (given := value.get(field.encode_name)) is None:
            continue
        matters = field.name in needed
        try:
            fields[field.name] = _read(given, field.type, needed, exact=matters)
        except msgspec.ValidationError:
            if given and matters:
                raise
    return fields


def _read(value: object, kind: Any, needed: Collection[str], *, exact: bool) -> Any:
    """Convert a value to a type: `"0"` is a number and, unless `exact`, 7 is an id."""
    for choice in get_args(kind) or (kind,):
        if _is_struct(choice):
            return tolerate(value, choice, needed)
        if get_origin(choice) is list and _is_struct(item := get_args(choice)[0]):
            if not isinstance(value, list):
                raise msgspec.ValidationError("Expected `array`")
            if len(value) > _MOST_PARTS:
                raise msgspec.ValidationError(f"Expected `array` of length <= {_MOST_PARTS}")
            return [tolerate(part, item, needed) for part in value]
    if type(value) is int and value and not exact:
        return msgspec.convert(str(value), kind, strict=False)
    return msgspec.convert(value, kind, strict=not isinstance(value, str))


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
