"""Converts a Python type to a node: its strict JSON Schema and its conversion.

If strict mode cannot express a type (a dict with any keys, `Any`), its tool is not strict. If JSON
Schema cannot express it, the error names the parameter.
"""

import collections.abc
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec

from toolwire.client.errors import ToolDefinitionError
from toolwire.client.tools.constraints import Constraints, read_constraints
from toolwire.client.tools.nodes import (
    ABSENT,
    Array,
    Closed,
    Dictionary,
    JsonSchema,
    Leaf,
    Node,
    Property,
    RecordNode,
    Reference,
    Tuple,
    Union,
)
from toolwire.client.tools.records import Member, pydantic_message, record_type

_STRICT_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
"""The formats that OpenAI accepts in strict mode. Others move to the description."""
_SCALARS: dict[Any, tuple[JsonSchema, Any, Callable[[Any], Any] | None]] = {
    str: ({"type": "string"}, str, None),
    bool: ({"type": "boolean"}, bool, None),
    int: ({"type": "integer"}, int, None),
    float: ({"type": "number"}, float, None),
    bytes: ({"type": "string", "format": "base64"}, bytes, None),
    datetime.datetime: ({"type": "string", "format": "date-time"}, datetime.datetime, None),
    datetime.date: ({"type": "string", "format": "date"}, datetime.date, None),
    datetime.time: ({"type": "string", "format": "time"}, datetime.time, None),
    datetime.timedelta: ({"type": "string", "format": "duration"}, datetime.timedelta, None),
    uuid.UUID: ({"type": "string", "format": "uuid"}, uuid.UUID, None),
    decimal.Decimal: ({"type": "string", "format": "decimal"}, decimal.Decimal, None),
    pathlib.Path: ({"type": "string", "format": "path"}, str, pathlib.Path),
    pathlib.PurePath: ({"type": "string", "format": "path"}, str, pathlib.PurePath),
    None: ({"type": "null"}, None, None),
    type(None): ({"type": "null"}, None, None),
}
_ARRAYS: dict[Any, Callable[[Any], Any]] = {
    list: list, set: set, frozenset: frozenset,
    collections.abc.Sequence: list, collections.abc.MutableSequence: list,
    collections.abc.Collection: list, collections.abc.Iterable: list,
    collections.abc.Set: set, collections.abc.MutableSet: set,
}  # fmt: skip
_DICTIONARIES = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


class SchemaBuilder:
    """Reads the types of one tool. `loose` is the reason why it cannot be strict, if any."""

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._open: dict[Any, str] = {}
        self._recursive: dict[str, Node] = {}
        self._records: dict[Any, Node] = {}
        self.loose: list[str] = []

    def record(
        self, members: Sequence[Member], build: Callable[[dict[str, Any]], Any]
    ) -> RecordNode:
        """Build the node of a function's arguments."""
        return RecordNode([self._property(member, "") for member in members], build)

    def definitions(self) -> dict[str, JsonSchema]:
        """The schemas of recursive types."""
        return {name: node.schema() for name, node in self._recursive.items()}

    def node(self, annotation: Any, where: str) -> Node:
        """Build the node of a type. `where` is the parameter, for error messages."""
        annotation, constraints = _unwrap(annotation)
        if isinstance(annotation, str | typing.ForwardRef):
            raise self._cannot(where, annotation, "its name is not defined where the tool is")
        if annotation in (Any, object):
            self.loose.append(f"{where}: any value")
            return Leaf({}, Any)
        if _hashable(annotation) and annotation in _SCALARS:
            return _scalar(*_SCALARS[annotation], constraints)
        return self._composed(annotation, constraints, where)

    def _composed(self, annotation: Any, constraints: Constraints, where: str) -> Node:
        origin = typing.get_origin(annotation) or annotation
        arguments = typing.get_args(annotation)
        if origin is Literal:
            return self._closed(list(arguments), where)
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return self._closed([member.value for member in annotation], where, annotation)
        if origin in (typing.Union, types.UnionType):
            return Union([self.node(option, where) for option in arguments])
        if origin is tuple:
            return self._tuple(arguments, constraints, where)
        if origin in _ARRAYS:
            return self._array(arguments[:1], _ARRAYS[origin], constraints, where)
        if origin in _DICTIONARIES:
            return self._dictionary(arguments, where)
        return self._named(annotation, where)

    def _array(
        self, item: Sequence[Any], build: Any, constraints: Constraints, where: str
    ) -> Array:
        node = self.node(item[0] if item else Any, f"the items of {where}")
        return Array(node, build, constraints.meta(list), constraints.words("array"))

    def _tuple(self, arguments: Any, constraints: Constraints, where: str) -> Node:
        if not arguments or (len(arguments) == 2 and arguments[1] is Ellipsis):
            return self._array(arguments[:1], tuple, constraints, where)
        if len(set(arguments)) == 1:
            size = len(arguments)
            limits = Constraints(limits={"min_length": size, "max_length": size})
            return self._array(arguments[:1], tuple, limits, where)
        self.loose.append(f"{where}: a tuple of different types")
        return Tuple([self.node(one, where) for one in arguments])

    def _dictionary(self, arguments: Any, where: str) -> Node:
        self.loose.append(f"{where}: a dict with any keys")
        key, value = arguments or (str, Any)
        node = self.node(key, f"the keys of {where}")
        if node.schema().get("type") not in ("string", "integer", "number"):
            raise self._cannot(where, key, "keys of a JSON object are strings")
        return Dictionary(node, self.node(value, f"the values of {where}"))

    def _closed(self, values: list[Any], where: str, kind: Any = None) -> Node:
        """Build the node of a fixed set of values."""
        names = [_JSON_TYPES.get(type(value), "") for value in values]
        if not all(names):
            raise self._cannot(where, kind or Literal, "its values are not plain JSON values")
        unique = list(dict.fromkeys(names))
        return Closed(values, unique[0] if len(unique) == 1 else unique, kind)

    def _named(self, kind: Any, where: str) -> Node:
        if kind in self._open:
            name = self._open[kind]
            self._recursive.setdefault(name, Reference(name, lambda: self._records[kind]))
            return self._recursive[name]
        found = record_type(kind) if _hashable(kind) else None
        if found is None:
            return self._foreign(kind, where)
        self._open[kind] = kind.__name__
        where.split(" (", maxsplit=1)[0]
        properties = [self._property(member, f"{where}.") for member in found.members]
        node: Node = RecordNode(properties, found.build, found.description, found.constant)
        self._records[kind] = node
        name = self._open.pop(kind)
        if name in self._recursive:
            self._recursive[name] = node
            return Reference(name, lambda: node)
        return node

    def _foreign(self, kind: Any, where: str) -> Node:
        """Build the node of a type that only pydantic supports, such as EmailStr."""
        if not hasattr(kind, "__get_pydantic_core_schema__"):
            raise self._cannot(where, kind, _HINTS.get(getattr(kind, "__name__", ""), _HINT))
        from pydantic import TypeAdapter  # noqa: PLC0415 - the type is pydantic's

        adapter: Any = TypeAdapter(kind)
        return Leaf(adapter.json_schema(), Any, lambda value: _adapted(adapter, value))

    def _property(self, member: Member, prefix: str) -> Property:
        where = f"{prefix}{member.name}"
        node = self.node(member.annotation, where)
        _, constraints = _unwrap(member.annotation)
        return Property(
            member.name,
            node,
            required=member.required,
            nullable=_takes_null(node),
            description=constraints.description or member.description,
            shown_default=_shown(member.default),
        )

    def _cannot(self, where: str, kind: Any, why: str) -> ToolDefinitionError:
        shown = getattr(kind, "__qualname__", None) or str(kind)
        return ToolDefinitionError(
            f"{self._tool}: parameter {where!r} has the type {shown}, which cannot be given to a "
            f"model: {why}."
        )


_HINT = (
    "use str, int, float, bool, Literal, Enum, list, dict, datetime, a dataclass, a TypedDict, "
    "or a msgspec or pydantic model"
)
_HINTS = {"complex": "JSON has no complex numbers", "Callable": "a model cannot write functions"}


def finish_schema(shape: JsonSchema, *, strict: bool) -> JsonSchema:
    """Return the schema to send. In strict mode it has only OpenAI's formats."""
    if not strict:
        return shape
    result: JsonSchema = _said(shape)
    return result


def _said(value: Any) -> Any:
    """Move each unsupported format into the description."""
    if isinstance(value, list):
        return [_said(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: _said(item) for key, item in value.items()}
    unusual = made.get("format")
    if isinstance(unusual, str) and unusual not in _STRICT_FORMATS and "type" in made:
        del made["format"]
        made["description"] = " ".join(filter(None, [made.get("description"), f"({unusual})"]))
    return made


def _unwrap(annotation: Any) -> tuple[Any, Constraints]:
    """Strip `Annotated`, NewType and aliases from a type. Return the type and its metadata."""
    metadata: list[Any] = []
    while True:
        if typing.get_origin(annotation) is Annotated:
            metadata = [*annotation.__metadata__, *metadata]
            annotation = annotation.__origin__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation, read_constraints(metadata)


def _scalar(shape: JsonSchema, kind: Any, build: Any, constraints: Constraints) -> Leaf:
    words = constraints.words(shape["type"])
    limited = constraints.meta(kind) if words else kind
    return Leaf({**shape, **words}, limited, build)


def _takes_null(node: Node) -> bool:
    shape = node.schema()
    kinds = shape.get("type")
    if not shape or kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    return {"type": "null"} in shape.get("anyOf", ())


def _shown(default: Any) -> str:
    """Format the default for the description: strict mode has no keyword for it."""
    if default is ABSENT or default is None:
        return ""
    try:
        return f"Default: {msgspec.json.encode(default, enc_hook=str).decode()}."
    except (TypeError, ValueError, msgspec.MsgspecError):
        return ""


def _adapted(adapter: Any, value: Any) -> Any:
    try:
        return adapter.validate_python(value)
    except ValueError as error:
        raise ValueError(pydantic_message(error)) from None


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
