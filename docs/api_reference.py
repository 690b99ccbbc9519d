"""The reference of the Python API: signatures and docstrings, as the source has them."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import TypeAlias, get_args, get_origin

import toolwire
from toolwire import client, formats

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

SECTIONS: dict[str, tuple[str, ...]] = {
    "Reading calls": (
        "extract",
        "Extracted",
        "ExtractedCall",
        "parser_for",
        "Parser",
        "ToolSpec",
        "InvalidTool",
        "Trace",
        "Span",
    ),
    "Events": ("TextDelta", "ReasoningDelta", "CallStart", "ArgsDelta", "CallEnd"),
    "Finding the format": (
        "detect_model",
        "detect_template",
        "detect_output",
        "Detection",
        "names",
        "get",
    ),
    "Writing prompts": (
        "render_tools",
        "render_calls",
        "RenderedCall",
        "render_results",
        "RenderedResult",
        "PromptTurn",
        "provider_id",
    ),
}
"""The public names of the formats, in the order of the page."""

CLIENT = ("Client", "AsyncClient", "tool", "Tool", "Toolbox", "ToolError", "Limits")
"""Those of the Python client."""


def reference(module: ModuleType = formats) -> Iterator[str]:
    """Every section, with every name in it."""
    for title, names in SECTIONS.items():
        yield f"## {title}"
        for name in names:
            yield from _entry(name, getattr(module, name))
            if name not in toolwire.__all__:
                yield f"Import it from `{module.__name__}`."
    yield "## The client"
    yield "See [the page of the client](client.md)."
    for name in CLIENT:
        yield from _entry(name, getattr(client, name))


def _entry(name: str, thing: object) -> Iterator[str]:
    node = _definition(thing)
    yield f"### `{name}`"
    if isinstance(node, ast.ClassDef):
        fields = [f"    {line}" for line in _fields(node)]
        yield _fenced([f"class {name}:" if fields else f"class {name}", *fields])
        yield _doc(node)
        for method in _methods(thing):
            yield f"**`{_named(_signature(method), thing)}`**: {_doc(method)}"
    else:
        yield _fenced([_signature(node, wrapped=True)])
        yield _doc(node)


def _definition(thing: object) -> ast.ClassDef | ast.FunctionDef:
    source = textwrap.dedent(inspect.getsource(thing))  # type: ignore[arg-type]
    node = ast.parse(source).body[0]
    if not isinstance(node, ast.ClassDef | ast.FunctionDef):
        raise TypeError(f"{thing!r} is neither a class nor a function")
    return node


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """The fields of a record, as its constructor takes them."""
    init = next((n for n in _functions(node) if n.name == "__init__"), None)
    if init is not None:
        return
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and not _source(item.target).startswith("_"):
            yield _source(item)


def _methods(thing: object) -> Iterator[Function]:
    """The methods of a class and of its bases, without overloads."""
    for kind in inspect.getmro(thing):  # type: ignore[arg-type]
        if kind.__module__.startswith("toolwire."):
            yield from filter(_is_shown, _functions(_definition(kind)))


def _is_shown(method: Function) -> bool:
    overloaded = any(_source(decorator) == "overload" for decorator in method.decorator_list)
    return not (overloaded or method.name.startswith("_"))


def _named(signature: str, thing: object) -> str:
    """A signature with the types that a class gives to the type variables of its bases."""
    for base in getattr(thing, "__orig_bases__", ()):
        variables = getattr(get_origin(base), "__parameters__", ())
        for variable, kind in zip(variables, get_args(base), strict=False):
            signature = signature.replace(variable.__name__, kind.__name__)
    return signature


def _functions(node: ast.AST) -> Iterable[Function]:
    return (item for item in node.body if isinstance(item, Function))  # type: ignore[attr-defined]


def _signature(node: Function, *, wrapped: bool = False) -> str:
    """A function's name, parameters and result; a property is only its name."""
    returns = f" -> {_source(node.returns)}" if node.returns is not None else ""
    if any(_source(decorator) == "property" for decorator in node.decorator_list):
        return f"{node.name}{returns}"
    parameters = [one for one in _parameters(node.args) if one.partition(":")[0] != "self"]
    name = f"async {node.name}" if isinstance(node, ast.AsyncFunctionDef) else node.name
    line = f"{name}({', '.join(parameters)}){returns}"
    if not wrapped or len(line) <= 88:
        return line
    rows = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"{name}(\n{rows}){returns}"


def _parameters(args: ast.arguments) -> Iterator[str]:
    """The parameters, one by one."""
    required = len(args.args) - len(args.defaults)
    for number, arg in enumerate(args.args):
        default = args.defaults[number - required] if number >= required else None
        yield _parameter(arg, default)
    if args.kwonlyargs:
        yield "*"
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(arg, default)


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    return _source(arg) + (f" = {_source(default)}" if default is not None else "")


def _doc(node: ast.ClassDef | ast.FunctionDef) -> str:
    """A docstring, each of its paragraphs on one line; examples stay as they are."""
    paragraphs = (ast.get_docstring(node) or "").split("\n\n")
    return "\n\n".join(p if p.startswith("    ") else p.replace("\n", " ") for p in paragraphs)


def _source(node: ast.AST) -> str:
    """A node as the formatter would write it."""
    return ast.unparse(node).replace("'", '"')


def _fenced(lines: Iterable[str]) -> str:
    return "\n".join(["```python", *lines, "```"])
