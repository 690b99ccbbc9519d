"""Types become strict schemas, and JSON becomes the types again."""

import dataclasses
import datetime
import decimal
import enum
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict

import annotated_types
import msgspec
import pydantic
import pytest

from toolwire.client import InvalidArguments, ToolDefinitionError, tool
from toolwire.client.tools.tool import Tool, make_tool
from toolwire.protocol.schemas.check import SchemaLimits, check_schema

UserId = NewType("UserId", int)


class Unit(enum.Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Share(enum.Enum):
    HALF = 0.5
    ALL = 1.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Place:
    """A place on earth.

    Attributes:
        city: Its name.
    """

    city: str
    country: str = "France"
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    name: str
    children: list["Tree"] = dataclasses.field(default_factory=list)


class Range(TypedDict):
    low: int
    high: NotRequired[int]


class Circle(msgspec.Struct, tag=True):
    radius: Annotated[float, msgspec.Meta(gt=0)]


class Square(msgspec.Struct, tag=True):
    side: float
    label: str = msgspec.field(name="title", default="square")


class Person(pydantic.BaseModel):
    """Somebody."""

    name: str = pydantic.Field(min_length=1, description="Full name.")
    age: int = pydantic.Field(default=30, ge=0)
    home: Place | None = None
    nick: str | None = pydantic.Field(default=None, alias="nickName")


class Pair(NamedTuple):
    a: int
    b: int


def made(annotation: Any, default: Any = ...) -> "Tool[Any, Any]":
    """A tool with one parameter `x` of this type, which returns what it is given."""

    def take(x: Any) -> Any:
        return x

    take.__annotations__["x"] = annotation
    if default is not ...:
        take.__defaults__ = (default,)
    return make_tool(take)


def schema(annotation: Any, default: Any = ...) -> Any:
    return made(annotation, default).parameters["properties"]["x"]


NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, None], {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
        (Unit, {"type": "string", "enum": ["celsius", "fahrenheit"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (UserId, {"type": "integer"}),
        (str | None, {"type": ["string", "null"]}),
        (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045
        (Unit | None, {"type": ["string", "null"], "enum": ["celsius", "fahrenheit", None]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, NULL]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[float, float],
            {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        ),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Path, {"type": "string", "description": "(path)"}),
        (decimal.Decimal, {"type": "string", "description": "(decimal)"}),
        (Annotated[str, "A name."], {"type": "string", "description": "A name."}),
        (
            Annotated[int, msgspec.Meta(ge=1, le=5, description="A mark.")],
            {"type": "integer", "minimum": 1, "maximum": 5, "description": "A mark."},
        ),
        (
            Annotated[float, annotated_types.Gt(0), annotated_types.MultipleOf(0.5)],
            {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
        ),
        (Annotated[int, annotated_types.Interval(ge=0, lt=9)],
         {"type": "integer", "minimum": 0, "exclusiveMaximum": 9}),
        (
            Annotated[str, pydantic.Field(pattern="^[a-z]+$", max_length=3, description="Code.")],
            {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3, "description": "Code."},
        ),
        (
            Annotated[list[str], annotated_types.Len(1, 3)],
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        ),
    ],
)  # fmt: skip
def test_a_type_has_its_schema(annotation: Any, expected: dict[str, Any]) -> None:
    assert schema(annotation) == expected


@pytest.mark.parametrize(
    ("annotation", "given", "expected"),
    [
        (Unit, "celsius", Unit.CELSIUS),
        (Level, 2, Level.HIGH),
        (Share, 0.5, Share.HALF),
        (Literal[True, "auto"], True, True),
        (set[int], [1, 1, 2], {1, 2}),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (datetime.datetime, "2026-11-16T12:00:00+00:00",
         datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)),
        (datetime.timedelta, "PT90S", datetime.timedelta(seconds=90)),
        (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
        (Path, "/tmp/a", Path("/tmp/a")),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
        (bytes, "aGk=", b"hi"),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Mapping[int, str], {"1": "a"}, {1: "a"}),
        (Place, {"city": "Paris", "country": None, "tags": None}, Place("Paris")),
        (list[Place], [{"city": "Paris", "country": "Texas"}], [Place("Paris", "Texas")]),
        (Range, {"low": 1, "high": None}, {"low": 1}),
        (Tree, {"name": "a", "children": [{"name": "b"}]}, Tree("a", [Tree("b")])),
        (Circle | Square, {"type": "Square", "side": 2, "title": None}, Square(2)),
        (Circle | Square, {"type": "Circle", "radius": 2}, Circle(2)),
        (Person, {"name": "Ada", "age": None, "home": {"city": "London"}, "nickName": "A"},
         Person(name="Ada", home=Place("London"), nickName="A")),
        (Any, {"a": [1]}, {"a": [1]}),
        (Place | str, "here", "here"),
        (Path | None, None, None),
        (int | str, "5", "5"),
    ],
)  # fmt: skip
def test_json_becomes_the_type(annotation: Any, given: Any, expected: Any) -> None:
    assert made(annotation).invoke({"x": given}) == expected


@pytest.mark.parametrize(
    ("annotation", "given", "expected"),
    [
        (int, "5", 5),
        (bool, "true", True),
        (float, "1.5", 1.5),
        (str, 12345, "12345"),
        (list[int], "[1, 2]", [1, 2]),
        (Place, '{"city": "Paris"}', Place("Paris")),
        (decimal.Decimal, 1.5, decimal.Decimal("1.5")),
        (int | None, "7", 7),
        (Level, "2", Level.HIGH),
    ],
)
def test_what_weak_models_write_is_understood(annotation: Any, given: Any, expected: Any) -> None:
    assert made(annotation).invoke({"x": given}) == expected


@pytest.mark.parametrize(
    ("annotation", "given", "message"),
    [
        (int, "five", "x: Expected 'int', got 'str'"),
        (int, None, "x: Expected 'int', got 'null'"),
        (Literal[1, 2], True, "x: Expected one of 1, 2, got true"),
        (Unit, "kelvin", 'x: Expected one of "celsius", "fahrenheit", got "kelvin"'),
        (Annotated[int, annotated_types.Le(5)], 9, "x: Expected 'int' <= 5"),
        (list[int], [1, "a"], "x[1]: Expected 'int', got 'str'"),
        (Annotated[list[int], annotated_types.MinLen(2)], [1], "x: Expected 'array' of length"),
        (Place, {"city": 5.5, "zip": 1}, "x.zip: there is no such parameter"),
        (Place, {}, "x.city: it is required"),
        (Person, {"name": ""}, "x.name: Expected 'str' of length >= 1"),
        (tuple[int, str], [1], "x: Expected 2 items, got 1"),
        (Circle | Square, {"type": "Cube"}, "x.type: Expected 'Circle' or x.type:"),
        (uuid.UUID, "no", "x: Invalid UUID"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_its_place(
    annotation: Any, given: Any, message: str
) -> None:
    with pytest.raises(InvalidArguments) as caught:
        made(annotation).invoke({"x": given})
    assert message in str(caught.value)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    @tool
    def book(day: datetime.date, seats: int, kind: Unit) -> None: ...

    with pytest.raises(InvalidArguments) as caught:
        book.convert({"day": "tomorrow", "seats": "two"})
    assert [part.partition(":")[0] for part in str(caught.value).split("; ")] == [
        "day",
        "seats",
        "kind",
    ]


def test_checks_of_a_class_are_what_the_model_is_told() -> None:
    @dataclasses.dataclass
    class Even:
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError("the number must be even")

    with pytest.raises(InvalidArguments, match="x: the number must be even"):
        made(Even).invoke({"x": {"number": 3}})


def test_a_default_is_null_in_the_schema_and_the_default_in_the_call() -> None:
    assert schema(int, 3) == {"type": ["integer", "null"], "description": "Default: 3."}
    box = made(int, 3)
    assert [box.invoke(given) for given in ({}, {"x": None}, {"x": 4})] == [3, 3, 4]
    assert box.parameters["required"] == ["x"]


def test_null_is_none_where_the_type_has_it() -> None:
    assert made(int | None, 3).invoke({"x": None}) is None
    assert made(int | None).invoke({}) is None


@pytest.mark.parametrize(
    "annotation",
    [str, int | None, Unit, Place, Person, Tree, Range, Circle | Square, list[Place], Path,
     tuple[int, int], Annotated[int, "A number."], datetime.datetime, Annotated[Tree, "A tree."]],
)  # fmt: skip
def test_a_strict_schema_is_strict_by_the_rules(annotation: Any) -> None:
    for one in (made(annotation), made(annotation, None)):
        assert one.strict
        check_schema(one.parameters, tool="take", strict=True, limits=SchemaLimits())


@pytest.mark.parametrize("annotation", [dict[str, int], Any, list, dict, tuple[int, str]])
def test_what_strict_mode_cannot_express_makes_a_tool_that_is_not_strict(annotation: Any) -> None:
    one = made(annotation)
    assert not one.strict
    assert "strict" not in one.definition["function"]
    check_schema(one.parameters, tool="take", strict=False, limits=SchemaLimits())


def test_strict_can_be_demanded() -> None:
    def save(values: dict[str, int]) -> None: ...

    with pytest.raises(ToolDefinitionError, match="save cannot be strict: values: a dict with any"):
        tool(save, strict=True)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (complex, "JSON has no complex numbers"),
        (Callable[[int], int], "parameter 'x' has the type"),
        (Pair, "parameter 'x' has the type Pair"),
        (dict[Place, int], "keys of a JSON object are strings"),
        (object(), "parameter 'x' has the type"),
        (list[complex], "the items of x"),
    ],
)
def test_what_cannot_be_expressed_is_an_error_that_names_the_parameter(
    annotation: Any, message: str
) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        made(annotation)
    assert str(caught.value).startswith("take: ")
    assert message in str(caught.value)


def test_a_type_inside_of_itself_is_a_reference() -> None:
    one = made(Annotated[Tree, "The root."])
    assert one.parameters["properties"]["x"] == {
        "anyOf": [{"$ref": "#/$defs/Tree"}],
        "description": "The root.",
    }
    children = one.parameters["$defs"]["Tree"]["properties"]["children"]
    assert children["items"] == {"$ref": "#/$defs/Tree"}


def test_the_docstring_of_a_record_describes_it() -> None:
    place = schema(Place)
    assert place["description"] == "A place on earth."
    assert place["properties"]["city"]["description"] == "Its name."


def test_types_that_pydantic_knows_are_checked_by_it() -> None:
    one = made(pydantic.HttpUrl)
    assert str(one.invoke({"x": "http://a/b"})) == "http://a/b"
    with pytest.raises(InvalidArguments, match="x: Input should be a valid URL"):
        one.invoke({"x": "nowhere"})
