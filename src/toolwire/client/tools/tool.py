"""A tool: a Python function that a model can call, with its schema."""

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import msgspec

from toolwire.client.errors import InvalidArguments, ToolDefinitionError
from toolwire.client.tools.docstring import read_docstring
from toolwire.client.tools.nodes import ABSENT, JsonSchema, Node
from toolwire.client.tools.records import Member
from toolwire.client.tools.schema import SchemaBuilder, finish_schema
from toolwire.protocol.schemas.strict import strict_fault

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_STRICT_PROPERTIES, _STRICT_DEPTH = 100, 5
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(eq=False)
class Tool(Generic[P, R]):
    """A function with its schema. Calling it calls the function."""

    function: Callable[P, R]
    name: str
    description: str
    parameters: JsonSchema
    strict: bool = False
    exclusive: bool = False
    timeout: float | None = None
    arguments: Node | None = field(default=None, repr=False)
    """Converts arguments. Without it, they are passed unchanged."""

    def __post_init__(self) -> None:
        # Not `update_wrapper`: the function's attributes must not replace the fields above.
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(self.function, name):
                setattr(self, name, getattr(self.function, name))
        self.__wrapped__ = self.function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type) -> "Tool[P, R]": ...
    @overload
    def __get__(
        self: "Tool[Concatenate[S, Q], R]", instance: S, owner: type | None = None
    ) -> "Tool[Q, R]": ...
    def __get__(self, instance: Any, owner: type | None = None) -> "Tool[Any, R]":
        """Bind a tool that is a method to its object."""
        if instance is None:
            return self
        bound = types.MethodType(self.function, instance)
        return replace(self, function=bound)

    @property
    def definition(self) -> dict[str, Any]:
        """The tool's definition for a request."""
        function: dict[str, Any] = {"name": self.name}
        if self.description:
            function["description"] = self.description
        function["parameters"] = self.parameters
        if self.strict:
            function["strict"] = True
        return {"type": "function", "function": function}

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        inner: Any = self.function
        while isinstance(inner, functools.partial):
            inner = inner.func
        return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
            getattr(inner, "__call__", None)  # noqa: B004 - an object whose __call__ is async
        )

    def convert(self, arguments: str | Mapping[str, Any]) -> dict[str, Any]:
        """Convert a call's arguments for the function. Raises `InvalidArguments`."""
        given = decoded(arguments)
        if self.arguments is None:
            return given
        try:
            made: dict[str, Any] = self.arguments.convert(given, "", lax=False)
        except InvalidArguments as strictly:
            try:
                made = self.arguments.convert(given, "", lax=True)
            except InvalidArguments:
                raise strictly from None
        return made

    def invoke(self, arguments: str | Mapping[str, Any]) -> R:
        """Call the function with a model's arguments."""
        return self.bind(self.convert(arguments))()

    def bind(self, converted: Mapping[str, Any]) -> Callable[[], R]:
        """Return the call as a function without parameters."""
        function: Any = self.function
        if self.arguments is None:
            return functools.partial(function, **converted)
        positional = [
            name
            for name, one in inspect.signature(function).parameters.items()
            if one.kind is inspect.Parameter.POSITIONAL_ONLY and name in converted
        ]
        rest = {name: value for name, value in converted.items() if name not in positional}
        return functools.partial(function, *(converted[name] for name in positional), **rest)


class _Decorator(typing.Protocol):
    """The decorator that `tool(...)` returns. It keeps the signature."""

    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    exclusive: bool = False,
    timeout: float | None = None,
) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    exclusive: bool = False,
    timeout: float | None = None,
) -> _Decorator: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Turn a typed function into a tool: `@tool`, `@tool(name=...)` or `tool(function)`.

    name: the tool's name. Default: the function's name.
    description: the tool's description. Default: from the docstring.
    strict: if True, types that strict mode cannot express are an error. By default, such a
        tool is not strict.
    exclusive: whether the tool never runs concurrently with another call.
    timeout: time limit of a call, in seconds.
    """
    if function is None:
        return lambda given: make_tool(given, **options)
    return make_tool(function, **options)


def make_tool(
    function: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    exclusive: bool = False,
    timeout: float | None = None,
) -> Tool[Any, Any]:
    """Create a tool from a function, a method, a partial or any other typed callable."""
    if (given := as_tool(function)) is not None:
        return _changed(
            given, name, description, strict=strict, exclusive=exclusive, timeout=timeout
        )
    source = _source(function)
    name = checked_name(name or getattr(source, "__name__", None) or type(function).__name__)
    told = read_docstring(_docstring(function, source))
    builder = SchemaBuilder(name)
    arguments = builder.record(_members(function, source, name, told.parameters), dict)
    shape = arguments.schema()
    if nested := builder.definitions():
        shape["$defs"] = nested
    fault = _not_strict(shape, builder.loose)
    if strict and fault:
        raise ToolDefinitionError(f"{name} cannot be strict: {fault}. Leave out strict=True.")
    is_strict = not fault if strict is None else strict
    return Tool(
        function=function,
        name=name,
        description=told.description if description is None else description,
        parameters=finish_schema(shape, strict=is_strict),
        strict=is_strict,
        exclusive=exclusive,
        timeout=timeout,
        arguments=arguments,
    )


def as_tool(value: Any) -> Tool[Any, Any] | None:
    """Return `value` as a tool if it is one already, even below @classmethod."""
    if isinstance(value, types.MethodType) and isinstance(value.__func__, Tool):
        return value.__func__.__get__(value.__self__)
    return value if isinstance(value, Tool) else None


def _changed(
    given: Tool[Any, Any],
    name: str | None,
    description: str | None,
    *,
    strict: bool | None,
    exclusive: bool,
    timeout: float | None,
) -> Tool[Any, Any]:
    """Return a copy of a tool with some settings changed."""
    if strict and not given.strict:
        make_tool(given.function, name=given.name, strict=True)  # which says why it cannot be
    return replace(
        given,
        name=checked_name(name or given.name),
        description=given.description if description is None else description,
        strict=given.strict if strict is None else strict,
        exclusive=exclusive or given.exclusive,
        timeout=given.timeout if timeout is None else timeout,
    )


def _members(function: Any, source: Any, tool_name: str, told: Mapping[str, str]) -> list[Member]:
    hints = _hints(source, tool_name)
    bound = function.keywords if isinstance(function, functools.partial) else {}
    found = []
    for at, one in enumerate(inspect.signature(function).parameters.values()):
        if one.name in bound or (at == 0 and _is_self(one, hints, source)):
            continue
        if one.kind in _VARIADIC:
            raise ToolDefinitionError(
                f"{tool_name}: a model cannot be given '{one}'. Name each parameter with its type."
            )
        if one.name not in hints:
            raise ToolDefinitionError(
                f"{tool_name}: parameter {one.name!r} has no type. Annotate it, for example "
                f"'{one.name}: str'."
            )
        default = ABSENT if one.default is inspect.Parameter.empty else one.default
        said = told.get(one.name, "")
        found.append(Member(one.name, hints[one.name], default is ABSENT, default, said))
    return found


def _hints(source: Any, tool_name: str) -> dict[str, Any]:
    closure = getattr(source, "__closure__", None) or ()
    names = getattr(getattr(source, "__code__", None), "co_freevars", ())
    nearby = {n: cell.cell_contents for n, cell in zip(names, closure, strict=True) if _full(cell)}
    try:
        return typing.get_type_hints(source, localns=nearby, include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            f"{tool_name}: {error} in an annotation. Define or import it at the top of the module."
        ) from None
    except TypeError:
        return {}  # a builtin without annotations; the caller has the better error message


def _source(function: Any) -> Any:
    """Return the function with the name, the annotations and the docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, staticmethod | classmethod):
        raise ToolDefinitionError("Write @tool below @staticmethod or @classmethod, not above it.")
    if isinstance(function, type):
        raise ToolDefinitionError(
            f"{function.__name__} is a class. Give a function, or an object of the class."
        )
    if not callable(function):
        raise ToolDefinitionError(f"{function!r} is not a function.")
    if inspect.isroutine(function):
        return inspect.unwrap(function)
    return type(function).__call__


def _docstring(function: Any, source: Any) -> str | None:
    if source.__name__ == "__call__":
        return source.__doc__ or type(function).__doc__
    text: str | None = source.__doc__
    return text


def _is_self(one: inspect.Parameter, hints: Mapping[str, Any], source: Any) -> bool:
    """Whether this parameter is the `self` of a method decorated in its class."""
    in_class = "." in getattr(source, "__qualname__", "").rpartition("<locals>.")[2]
    return one.name in ("self", "cls") and one.name not in hints and in_class


def _not_strict(shape: JsonSchema, loose: list[str]) -> str | None:
    if loose:
        return loose[0]
    fault = strict_fault(shape, properties=_STRICT_PROPERTIES, depth=_STRICT_DEPTH)
    return fault.rstrip(".") if fault else None


def checked_name(name: str) -> str:
    if name in ("<lambda>", "__call__") or not _NAME.fullmatch(name):
        raise ToolDefinitionError(
            f"{name!r} cannot be the name of a tool: letters, digits, '_' and '-' can, 64 at most. "
            "Give one with tool(function, name=...)."
        )
    return name


def decoded(arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as a dict, however the model wrote them. Raises `InvalidArguments`."""
    if isinstance(arguments, Mapping):
        return dict(arguments)
    if not arguments.strip():
        return {}
    try:
        value = msgspec.json.decode(arguments)
        if isinstance(value, str):
            value = msgspec.json.decode(value)  # some models write JSON in JSON
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidArguments(f"they are not JSON: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArguments("they are not a JSON object")
    return value


def _full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not ABSENT
    except ValueError:
        return False
