"""The members of a record type: dataclass, TypedDict, msgspec, attrs or pydantic.

This module never imports pydantic or attrs: whoever defines such a type has imported them.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from toolwire.client.tools.docstring import read_docstring
from toolwire.client.tools.nodes import ABSENT


@dataclass(frozen=True)
class Member:
    """One member: its name in JSON, its type, and its default if it has one."""

    name: str
    annotation: Any
    required: bool = True
    default: Any = ABSENT
    description: str = ""


@dataclass(frozen=True)
class RecordType:
    """A record type. `build` creates an instance from a dict with JSON names."""

    members: list[Member]
    build: Callable[[dict[str, Any]], Any]
    description: str = ""
    constant: Mapping[str, str] = field(default_factory=dict)


def record_type(kind: Any) -> RecordType | None:
    """Return the record type of `kind`; None if it is not a record."""
    for applies, read in _KINDS:
        if applies(kind):
            found = read(kind)
            return _documented(found, kind)
    return None


def is_pydantic(kind: Any) -> bool:
    """Whether it is a pydantic model."""
    return isinstance(kind, type) and hasattr(kind, "model_validate") and _has(kind, "model_fields")


def _dataclass(kind: Any) -> RecordType:
    hints = typing.get_type_hints(kind, include_extras=True)
    members = [
        _with_default(one.name, hints[one.name], one.default, dataclasses.MISSING, one)
        for one in dataclasses.fields(kind)
        if one.init
    ]
    return RecordType(members, lambda given: kind(**given))


def _with_default(name: str, hint: Any, default: Any, missing: Any, one: Any) -> Member:
    factory = getattr(one, "default_factory", missing)
    if default is missing and factory is missing:
        return Member(name, hint)
    return Member(name, hint, required=False, default=ABSENT if default is missing else default)


def _typed_dict(kind: Any) -> RecordType:
    hints = typing.get_type_hints(kind, include_extras=True)
    members = [
        Member(name, _unwrapped(hint), required=name in kind.__required_keys__)
        for name, hint in hints.items()
    ]
    return RecordType(members, dict)


def _unwrapped(hint: Any) -> Any:
    """Strip Required, NotRequired and ReadOnly from a type."""
    origin = typing.get_origin(hint)
    named = getattr(origin, "_name", None) or getattr(origin, "__name__", "")
    return _unwrapped(typing.get_args(hint)[0]) if named in _QUALIFIERS else hint


_QUALIFIERS = ("Required", "NotRequired", "ReadOnly")


def _struct(kind: Any) -> RecordType:
    hints = typing.get_type_hints(kind, include_extras=True)
    info = msgspec.structs.fields(kind)
    members = [
        _with_default(one.encode_name, hints[one.name], one.default, msgspec.NODEFAULT, one)
        for one in info
    ]
    names = {one.encode_name: one.name for one in info}
    config = kind.__struct_config__
    tag = {config.tag_field: config.tag} if isinstance(config.tag, str) else {}
    return RecordType(
        members,
        lambda given: kind(**{names[name]: value for name, value in given.items()}),
        constant=tag,
    )


def _attrs(kind: Any) -> RecordType:
    hints = typing.get_type_hints(kind, include_extras=True)
    members = []
    for one in kind.__attrs_attrs__:
        has_default = "NOTHING" not in repr(one.default)
        simple = has_default and not hasattr(one.default, "factory")
        default = one.default if simple else ABSENT
        members.append(Member(one.alias, hints[one.name], not has_default, default))
    return RecordType(members, lambda given: kind(**given))


def _pydantic(kind: Any) -> RecordType:
    members = []
    for name, one in kind.model_fields.items():
        needed = one.is_required()
        simple = not needed and one.default_factory is None
        hint = Annotated[(one.annotation, *one.metadata)] if one.metadata else one.annotation
        alias = one.validation_alias if isinstance(one.validation_alias, str) else None
        members.append(
            Member(
                alias or one.alias or name,
                hint,
                needed,
                one.default if simple else ABSENT,
                one.description or "",
            )
        )
    return RecordType(members, lambda given: _validated(kind, given))


def _validated(kind: Any, given: dict[str, Any]) -> Any:
    try:
        return kind.model_validate(given)
    except ValueError as error:
        raise ValueError(pydantic_message(error)) from None


def pydantic_message(error: ValueError) -> str:
    """Format pydantic's errors on one line, without links to its documentation."""
    if not hasattr(error, "errors"):
        return str(error)
    found = error.errors(include_url=False)
    places = ((".".join(map(str, one["loc"])), one["msg"]) for one in found)
    return "; ".join(f"{place}: {said}" if place else said for place, said in places)


def _documented(found: RecordType, kind: Any) -> RecordType:
    """Add the descriptions from the class's docstring."""
    text = kind.__dict__.get("__doc__")
    if not text or text.startswith((f"{kind.__name__}(", "Usage docs:")):
        return found
    read = read_docstring(inspect.cleandoc(text))
    members = [
        one if one.description else dataclasses.replace(one, description=said)
        for one in found.members
        for said in (read.parameters.get(one.name, ""),)
    ]
    return dataclasses.replace(found, members=members, description=read.description)


def _has(kind: Any, name: str) -> bool:
    return any(name in base.__dict__ for base in kind.__mro__) or hasattr(type(kind), name)


_KINDS: list[tuple[Callable[[Any], bool], Callable[[Any], RecordType]]] = [
    (is_pydantic, _pydantic),
    (lambda kind: isinstance(kind, type) and issubclass(kind, msgspec.Struct), _struct),
    (lambda kind: isinstance(kind, type) and dataclasses.is_dataclass(kind), _dataclass),
    (typing.is_typeddict, _typed_dict),
    (lambda kind: isinstance(kind, type) and hasattr(kind, "__attrs_attrs__"), _attrs),
]
