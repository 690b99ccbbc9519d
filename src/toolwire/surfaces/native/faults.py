"""Finds all errors of a JSON value against its type, each with its path.

A decoder stops at the first error. This walks the same type, so the two agree on what is valid. It
is slower, and runs only after the decoder has failed.
"""

import operator
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from toolwire.errors import RequestError
from toolwire.surfaces.explain import bad_value, json_kind, missing, wrong_type

Faults: TypeAlias = Iterator[RequestError]
_KINDS: dict[type[Any], str] = {
    inspect.StructType: "object",
    inspect.DictType: "object",
    inspect.ListType: "array",
    inspect.StrType: "str",
    inspect.LiteralType: "str",
    inspect.BoolType: "bool",
    inspect.IntType: "int",
    inspect.FloatType: "float",
    inspect.NoneType: "null",
}
_BOUNDS = (("ge", operator.ge, "at least"), ("le", operator.le, "at most"))


def faults(value: Any, kind: inspect.Type, path: str) -> Faults:
    """Yield the errors of a decoded value."""
    if isinstance(kind, inspect.Metadata):
        yield from faults(value, kind.type, path)
    elif isinstance(kind, inspect.UnionType):
        yield from _of_union(value, kind, path)
    elif type(kind) not in _KINDS:
        return  # anything is valid
    elif not _is_of(value, kind):
        yield wrong_type(path, _KINDS[type(kind)], json_kind(value))
    elif isinstance(kind, inspect.StructType):
        yield from _of_struct(value, kind, path)
    elif isinstance(kind, inspect.ListType):
        for position, item in enumerate(value):
            yield from faults(item, kind.item_type, f"{path}[{position}]")
    elif isinstance(kind, inspect.LiteralType):
        if value not in kind.values:
            yield bad_value(value, path, _listed(kind.values))
    elif isinstance(kind, inspect.StrType):
        yield from _of_text(value, kind, path)
    elif isinstance(kind, inspect.IntType | inspect.FloatType):
        yield from _of_number(value, kind, path)


def _is_of(value: Any, kind: inspect.Type) -> bool:
    wanted, got = _KINDS.get(type(kind)), json_kind(value)
    return wanted is None or wanted == got or (wanted == "float" and got == "int")


def _of_union(value: Any, kind: inspect.UnionType, path: str) -> Faults:
    options = [t.type if isinstance(t, inspect.Metadata) else t for t in kind.types]
    fitting = [option for option in options if _is_of(value, option)]
    tagged = [o for o in fitting if isinstance(o, inspect.StructType) and o.tag_field]
    if not fitting:
        kinds = dict.fromkeys(_KINDS[type(option)] for option in options)
        yield wrong_type(path, " | ".join(kinds), json_kind(value))
    elif tagged:
        yield from _of_tagged(value, tagged, path)
    else:
        yield from faults(value, fitting[0], path)


def _of_tagged(value: dict[str, Any], options: list[inspect.StructType], path: str) -> Faults:
    field = options[0].tag_field or ""
    tag = value.get(field, msgspec.UNSET)
    found = next((option for option in options if option.tag == tag), None)
    if found is not None:
        yield from _of_struct(value, found, path)
    elif tag is msgspec.UNSET:
        yield missing(f"{path}.{field}")
    elif not isinstance(tag, str):
        yield wrong_type(f"{path}.{field}", "str", json_kind(tag))
    else:
        yield bad_value(tag, f"{path}.{field}", _listed([option.tag for option in options]))


def _of_struct(value: dict[str, Any], kind: inspect.StructType, path: str) -> Faults:
    for field in kind.fields:
        where = f"{path}.{field.encode_name}"
        if field.encode_name in value:
            yield from faults(value[field.encode_name], field.type, where)
        elif field.required:
            yield missing(where)


def _of_text(value: str, kind: inspect.StrType, path: str) -> Faults:
    if kind.min_length and len(value) < kind.min_length:
        yield _invalid(path, "it is empty", "empty_string")
    elif kind.max_length is not None and len(value) > kind.max_length:
        text = f"it has {len(value)} characters; at most {kind.max_length} are allowed"
        yield _invalid(path, text, "string_above_max_length")
    elif kind.pattern == r"\S" and not value.strip():
        yield _invalid(path, "it is empty", "empty_string")
    elif kind.pattern and not re.search(kind.pattern, value):
        shown = value if len(value) <= 100 else f"{value[:100]}..."
        yield _invalid(path, f"'{shown}' does not match the pattern '{kind.pattern}'")


def _of_number(value: float, kind: inspect.IntType | inspect.FloatType, path: str) -> Faults:
    for name, holds, words in _BOUNDS:
        bound = getattr(kind, name)
        if bound is not None and not holds(value, bound):
            yield _invalid(path, f"it must be {words} {bound}, and is {value}")


def _invalid(path: str, why: str, code: str = "invalid_value") -> RequestError:
    return RequestError(f"Invalid '{path}': {why}.", param=path, code=code)


def _listed(words: Any) -> str:
    *first, last = (f"'{word}'" for word in words)
    return f"{', '.join(first)} and {last}" if first else last
