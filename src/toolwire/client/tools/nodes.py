"""The type of a tool's parameter: its JSON Schema, and the conversion from JSON.

Both come from the same node, so the conversion accepts what the schema allows. `lax` also accepts
common mistakes of weak models: "5" for 5, and an object or a list as a JSON string.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from toolwire.client.errors import InvalidArguments

JsonSchema = dict[str, Any]
ABSENT: Any = object()


class Node(Protocol):
    """A type: the schema that describes it, and the conversion of a JSON value to it."""

    def schema(self) -> JsonSchema: ...
    def convert(self, value: Any, path: str, *, lax: bool) -> Any: ...


@dataclass(frozen=True)
class Leaf:
    """A scalar. msgspec converts it to `kind`, then `build` creates the final value."""

    shape: JsonSchema
    kind: Any
    build: Callable[[Any], Any] | None = None

    def schema(self) -> JsonSchema:
        return dict(self.shape)

    def convert(self, value: Any, path: str, *, lax: bool) -> Any:
        if lax and self.shape.get("type") == "string" and type(value) in (int, float):
            value = str(value)
        try:
            made = msgspec.convert(value, self.kind, strict=not lax)
        except msgspec.ValidationError as error:
            raise unfit(path, str(error)) from None
        return made if self.build is None else construct(self.build, made, path)


@dataclass(frozen=True)
class Closed:
    """One of a fixed set of values. `build` converts it to an enum member."""

    values: Sequence[Any]
    json_type: str | list[str]
    build: Callable[[Any], Any] | None = None

    def schema(self) -> JsonSchema:
        return {"type": self.json_type, "enum": list(self.values)}

    def convert(self, value: Any, path: str, *, lax: bool) -> Any:
        for one in self.values:
            if _same(one, value) or (lax and _quoted(one).strip('"') == str(value)):
                return one if self.build is None else construct(self.build, one, path)
        allowed = ", ".join(_quoted(one) for one in self.values)
        raise unfit(path, f"Expected one of {allowed}, got {_quoted(value)}")


@dataclass(frozen=True)
class Array:
    """A list, set or tuple of one kind of item."""

    item: Node
    build: Callable[[Any], Any] = list
    limits: Any = list
    shape: JsonSchema = field(default_factory=dict)

    def schema(self) -> JsonSchema:
        return {"type": "array", "items": self.item.schema(), **self.shape}

    def convert(self, value: Any, path: str, *, lax: bool) -> Any:
        value = parsed(value, list) if lax else value
        check(value, self.limits, path)
        items = [self.item.convert(one, f"{path}[{at}]", lax=lax) for at, one in enumerate(value)]
        return construct(self.build, items, path)


@dataclass(frozen=True)
class Tuple:
    """A tuple whose items each have their own type."""

    items: Sequence[Node]

    def schema(self) -> JsonSchema:
        size = len(self.items)
        return {
            "type": "array",
            "prefixItems": [item.schema() for item in self.items],
            "minItems": size,
            "maxItems": size,
        }

    def convert(self, value: Any, path: str, *, lax: bool) -> Any:
        value = parsed(value, list) if lax else value
        check(value, list, path)
        if len(value) != len(self.items):
            raise unfit(path, f"Expected {len(self.items)} items, got {len(value)}")
        return tuple(
            node.convert(one, f"{path}[{at}]", lax=lax)
            for at, (node, one) in enumerate(zip(self.items, value, strict=True))
        )


@dataclass(frozen=True)
class Dictionary:
    """An object with any keys."""

    key: Node
    value: Node

    def schema(self) -> JsonSchema:
        return {"type": "object", "additionalProperties": self.value.schema() or True}

    def convert(self, value: Any, path: str, *, lax: bool) -> Any:
        value = parsed(value, dict) if lax else value
        check(value, dict, path)
        return {
            self.key.convert(key, f"the key {key!r} of {path}", lax=True): self.value.convert(
                item, _join(path, key), lax=lax
            )
            for key, item in value.items()
        }


@dataclass(frozen=True)
class Union:
    """One of several types. The first match wins; strict matches come before lax ones."""

    options: Sequence[Node]

    def schema(self) -> JsonSchema:
        return union_schema([option.schema() for option in self.options])

    def convert(self, value: Any, path: str, *, lax: bool) -> Any:
        reasons = []
        for leniently in (False, True) if lax else (False,):
            for option in self.options:
                try:
                    return option.convert(value, path, lax=leniently)
                except InvalidArguments as error:
                    reasons.append(str(error))
        raise InvalidArguments(" or ".join(dict.fromkeys(reasons)))


@dataclass(frozen=True)
class Reference:
    """A recursive type. `find` returns its node, which is created after this one."""

    name: str
    find: Callable[[], Node]

    def schema(self) -> JsonSchema:
        return {"$ref": f"#/$defs/{self.name}"}

    def convert(self, value: Any, path: str, *, lax: bool) -> Any:
        return self.find().convert(value, path, lax=lax)


@dataclass(frozen=True)
class Property:
    """A member of a record. If it has a default, null means the default."""

    name: str
    node: Node
    required: bool = True
    nullable: bool = False
    description: str = ""
    shown_default: str = ""

    def schema(self) -> JsonSchema:
        shape = self.node.schema()
        if not self.required and not self.nullable:
            shape = union_schema([shape, {"type": "null"}])
        said = [self.description or shape.get("description", ""), self.shown_default]
        text = " ".join(filter(None, said))
        if text and "$ref" in shape:
            shape = {"anyOf": [shape]}  # strict mode allows no siblings of a reference
        return {**shape, "description": text} if text else shape


@dataclass(frozen=True)
class RecordNode:
    """An object with known members. `build` is called with the members that were given."""

    properties: Sequence[Property]
    build: Callable[[dict[str, Any]], Any]
    description: str = ""
    constant: Mapping[str, str] = field(default_factory=dict)
    """Members that always have the same value, such as a tag."""

    def schema(self) -> JsonSchema:
        shape: JsonSchema = {"type": "object"}
        if self.description:
            shape["description"] = self.description
        tags = {name: {"type": "string", "enum": [tag]} for name, tag in self.constant.items()}
        shape["properties"] = tags | {one.name: one.schema() for one in self.properties}
        # Strict mode: every member is required, and optional ones are nullable.
        shape["required"] = list(shape["properties"])
        shape["additionalProperties"] = False
        return shape

    def convert(self, value: Any, path: str, *, lax: bool) -> Any:
        value = parsed(value, dict) if lax else value
        check(value, dict, path)
        self._check_names(value, path)
        made: dict[str, Any] = {}
        problems = []
        for one in self.properties:
            try:
                given = self._member(one, value, path, lax=lax)
            except InvalidArguments as error:
                problems.append(str(error))
                continue
            if given is not ABSENT:
                made[one.name] = given
        if problems:
            raise InvalidArguments("; ".join(problems))
        return construct(self.build, made, path)

    def _member(self, one: Property, value: Mapping[str, Any], path: str, *, lax: bool) -> Any:
        given = value.get(one.name, ABSENT)
        if given is ABSENT and one.required:
            if one.nullable:
                return None
            raise unfit(_join(path, one.name), "it is required")
        if given is ABSENT or (given is None and not one.required and not one.nullable):
            return ABSENT
        return one.node.convert(given, _join(path, one.name), lax=lax)

    def _check_names(self, value: Mapping[str, Any], path: str) -> None:
        for name, tag in self.constant.items():
            if value.get(name) != tag:
                raise unfit(_join(path, name), f"Expected {tag!r}")
        names = [*self.constant, *(one.name for one in self.properties)]
        for name in value:
            if name not in names:
                raise unfit(
                    _join(path, name), f"there is no such parameter (there are: {', '.join(names)})"
                )


def union_schema(shapes: Sequence[JsonSchema]) -> JsonSchema:
    """Return the schema of a union: a list of types if that is enough, otherwise `anyOf`."""
    flat = [one for shape in shapes for one in (shape["anyOf"] if _is_union(shape) else [shape])]
    unique = [shape for at, shape in enumerate(flat) if shape not in flat[:at]]
    null = {"type": "null"}
    others = [shape for shape in unique if shape != null]
    if len(others) == len(unique):
        return others[0] if len(others) == 1 else {"anyOf": others}
    if len(others) == 1 and isinstance(kind := others[0].get("type"), str) and kind != "object":
        return _with_null(others[0], kind)
    return {"anyOf": [*others, null]}


def _with_null(shape: JsonSchema, kind: str) -> JsonSchema:
    shape = {**shape, "type": [kind, "null"]}
    if "enum" in shape:
        shape["enum"] = [*shape["enum"], None]
    return shape


def _is_union(shape: JsonSchema) -> bool:
    return set(shape) == {"anyOf"}


def check(value: Any, kind: Any, path: str) -> None:
    """Raise unless the JSON value has this type and meets its constraints."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise unfit(path, str(error)) from None


def construct(build: Callable[[Any], Any], value: Any, path: str) -> Any:
    """Create the object. Errors of its own validation go to the model."""
    try:
        return build(value)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise unfit(path, str(error).partition("\n")[0] or type(error).__name__) from None


def parsed(value: Any, kind: type) -> Any:
    """Parse a list or an object that was written as a JSON string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            found = msgspec.json.decode(value)
        except (msgspec.MsgspecError, RecursionError):
            return value
        return found if isinstance(found, kind) else value
    return value


def unfit(path: str, why: str) -> InvalidArguments:
    """Return the error for one location."""
    why = why.partition(" - at `")[0].replace("`", "'")
    return InvalidArguments(f"{path}: {why}" if path else why)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but True is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _quoted(value: Any) -> str:
    return msgspec.json.encode(value).decode()[:100]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
