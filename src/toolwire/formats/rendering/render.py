"""Renders tools, calls and results as prompt text, in the format that a model was trained on.

Rendering is the inverse of parsing: `parse(render(call)) == call`. It is correct where the models'
own templates are not (quoted Python strings, all calls of a turn, arguments as an object).
Untrusted text in the prompt cannot open a call or close a result, because its markers are visibly
escaped.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from keyword import iskeyword
from typing import Any, TypeAlias

import msgspec

from toolwire.formats.arguments import values
from toolwire.formats.arguments.schema import type_name
from toolwire.formats.catalog import get
from toolwire.formats.record import ID_FORMS, Format
from toolwire.formats.rendering.escape_markers import neutralize
from toolwire.formats.rendering.instructions import instructions_for
from toolwire.formats.rendering.writing import Writing
from toolwire.formats.tools.given_tools import GivenTool, as_tools
from toolwire.protocol.content import error_text

_Guard: TypeAlias = Callable[[str], str]
_NOT_BARE = frozenset(":,{}[]()<'\"")  # a lax key that contains one of these is quoted
_PYTHON_WORDS = {True: "True", False: "False", None: "None"}


class RenderedCall(msgspec.Struct, frozen=True):
    """A call to render: its decoded arguments, and its id in the prompt."""

    name: str
    arguments: Mapping[str, Any]
    provider_id: str = ""


class RenderedResult(msgspec.Struct, frozen=True):
    """The result of the call at `index` of its turn. `is_error`: the tool failed."""

    name: str
    content: str
    provider_id: str = ""
    index: int = 0
    is_error: bool = False


class PromptTurn(msgspec.Struct, frozen=True):
    """One turn of a prompt: a role known to the model, and its text."""

    role: str
    text: str


def provider_id(name: str | Format, call: str, number: int) -> str:
    """Return the id that call `number` of a conversation must have in this format."""
    return ID_FORMS[get(name).ids].format(name=call, number=number)


def render_tools(name: str | Format, tools: Iterable[GivenTool]) -> str:
    """Render the tools and how to call them, as the text of a system message."""
    record = get(name)
    example = render_calls(name, [RenderedCall("NAME", {"KEY": "VALUE"}, "0")])
    return instructions_for(record, as_tools(tools), example)


def render_calls(
    name: str | Format, calls: Sequence[RenderedCall], *, guarded: bool = False
) -> str:
    """Render the calls of one assistant turn.

    With `guarded`, markers of the format in the arguments are escaped. JSON and Python arguments
    keep their meaning; raw text is changed visibly.
    """
    if not calls:
        return ""
    record = get(name)
    writing = record.writing
    guard = partial(neutralize, record) if guarded else str
    bodies = (_write_call(writing, call, index, guard) for index, call in enumerate(calls))
    return writing.before + writing.between.join(bodies) + writing.after


def render_results(name: str | Format, results: Iterable[RenderedResult]) -> list[PromptTurn]:
    """Render the results of one assistant turn, in the order of its calls."""
    record = get(name)
    rules = record.results
    ordered = sorted(results, key=lambda result: result.index)
    bodies = [_write_result(record, result) for result in ordered]
    if not rules.merged:
        return [PromptTurn(rules.role, rules.before + body + rules.after) for body in bodies]
    if not bodies:
        return []
    return [PromptTurn(rules.role, rules.before + rules.between.join(bodies) + rules.after)]


def _fill(template: str, values_of: Mapping[str, Callable[[], str]]) -> str:
    """Replace each {placeholder} once, left to right. Inserted text is not scanned again."""
    out: list[str] = []
    pos = 0
    while (start := template.find("{", pos)) >= 0:
        end = template.find("}", start)
        make = values_of.get(template[start + 1 : end]) if end > 0 else None
        if make is None:
            out.append(template[pos : start + 1])
            pos = start + 1
        else:
            out.append(template[pos:start] + make())
            pos = end + 1
    return "".join(out) + template[pos:]


def _write_call(writing: Writing, call: RenderedCall, index: int, guard: _Guard) -> str:
    arguments = call.arguments
    name_key, args_key = writing.keys
    return _fill(
        writing.call,
        {
            "name": lambda: _attribute(writing, call.name),
            "qname": lambda: values.to_json(call.name),
            "id": lambda: call.provider_id,
            "qid": lambda: values.to_json(call.provider_id),
            "index": lambda: str(index),
            "number": lambda: str(index + 1),
            "args": lambda: guard(values.to_json(arguments)),
            "json": lambda: guard(values.to_json({name_key: call.name, args_key: arguments})),
            "python": lambda: f"{call.name}({guard(_keywords(arguments))})",
            "lax": lambda: _lax(arguments, writing.delimiter, guard),
            "params": lambda: "".join(_params(writing, arguments, guard)),
        },
    )


def _params(writing: Writing, arguments: Mapping[str, Any], guard: _Guard) -> Iterable[str]:
    for key, value in arguments.items():
        yield _fill(
            writing.param,
            {
                "key": lambda key=key: guard(_attribute(writing, key)),  # type: ignore[misc]
                "string": lambda v=value: "true" if isinstance(v, str) else "false",  # type: ignore[misc]
                "type": lambda v=value: _type_attribute(v),  # type: ignore[misc]
                "value": lambda v=value: guard(_text(v)),  # type: ignore[misc]
                "tree": lambda k=key, v=value: _tree(k, v, writing.delimiter, guard),  # type: ignore[misc]
            },
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else values.to_json(value)


def _type_attribute(value: Any) -> str:
    name = type_name(value)
    return "number" if name == "integer" else name


def _attribute(writing: Writing, text: str) -> str:
    if not writing.escape_attributes:
        return text
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _keywords(arguments: Mapping[str, Any]) -> str:
    return ", ".join(_keyword(key, value) for key, value in arguments.items())


def _keyword(key: str, value: Any) -> str:
    """Render one argument. A key that is not a valid keyword is passed with `**`."""
    if key.isidentifier() and not iskeyword(key):
        return f"{key}={_literal(value)}"
    return f"**{{{_literal(key)}: {_literal(value)}}}"


def _literal(value: Any) -> str:
    """Render a JSON value as a Python literal."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if value is None or isinstance(value, bool):
        return _PYTHON_WORDS[value]
    # A JSON string is also a valid Python string, and the parser reads it.
    return json.dumps(value) if isinstance(value, str) else values.to_json(value)


def _lax(value: Any, delimiter: str, guard: _Guard) -> str:
    """Render a value with bare keys and delimited strings."""
    if isinstance(value, Mapping):
        items = (
            f"{_lax_key(key, guard)}:{_lax(item, delimiter, guard)}" for key, item in value.items()
        )
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_lax(item, delimiter, guard) for item in value) + "]"
    if isinstance(value, str):
        return f"{delimiter}{guard(value)}{delimiter}"
    return values.to_json(value)


def _lax_key(key: str, guard: _Guard) -> str:
    """Render a key: bare if possible, otherwise quoted."""
    bare = key.strip() == key and not _NOT_BARE.intersection(key) and key
    return guard(key if bare else values.to_json(key))


def _tree(key: str, value: Any, prefix: str, guard: _Guard) -> str:
    """Render a value as an element. Nested values may have no schema, so they are JSON."""
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        inner = "".join(_tree("item", item, prefix, guard) for item in value)
    else:
        inner = guard(_text(value))
    return f"{prefix}<{guard(key)}>{inner}{prefix}</{guard(key)}>"


def _write_result(record: Format, result: RenderedResult) -> str:
    rules, content = record.results, result.content
    if result.is_error and not rules.error:
        content = error_text(content)

    def guarded(text: str) -> str:
        return neutralize(record, text.replace("<", "\\u003c"))

    def quoted() -> str:
        return values.to_json(content)

    return _fill(
        rules.error if result.is_error and rules.error else rules.result,
        {
            "result": lambda: neutralize(record, content),
            "json": lambda: guarded(quoted()),
            "value": lambda: guarded(values.any_json(content) or quoted()),
            "name": lambda: result.name,
            "id": lambda: result.provider_id,
            "qid": lambda: values.to_json(result.provider_id),
            "index": lambda: str(result.index),
            "number": lambda: str(result.index + 1),
        },
    )
