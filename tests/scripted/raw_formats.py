"""How models without tool support write calls as text: a small writer and reader per format.

Written from what the models are known to do, and on purpose from nothing else: whoever reads
these texts elsewhere is checked against an independent hand. A *slip* is a way of writing a call
that is wrong and that models have all the same.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.scripted.answer import Call

Slips = Collection[str]
Made = tuple[str, Any]
"""A call as it stands in a text: its name and its arguments."""

SLIPS = {
    "prose": "words come before the calls",
    "prefix": "the tool's name has `functions.` in front",
    "fence": "the JSON of a call stands in a code fence",
    "args_string": "the arguments are a JSON string that holds the object",
    "no_end": "the last end marker is missing",
}
PROSE = "Let me see what I can do about it."


@dataclass(frozen=True)
class RawFormat:
    """One format: `write` makes the text of a turn, `read` finds the calls of earlier turns."""

    name: str
    write: Callable[[str, Sequence[Call], Slips], str]
    read: Callable[[str], Iterator[Made]]
    slips: frozenset[str] = frozenset()
    """The slips that a model of this format is known for, beside `prose` and `prefix`."""


_json = json.JSONDecoder()


def written(form: RawFormat, text: str, calls: Sequence[Call], slips: Slips) -> str:
    """The text of a turn, calls and all."""
    if not calls:
        return text
    return form.write(text or (PROSE if "prose" in slips else ""), calls, slips)


# What the writers have in common.


def _name(call: Call, slips: Slips) -> str:
    return f"functions.{call.name}" if "prefix" in slips else call.name


def _arguments(call: Call, slips: Slips) -> str:
    return json.dumps(call.arguments) if "args_string" in slips else call.arguments


def _object(call: Call, slips: Slips, key: str = "arguments") -> str:
    return f'{{"name": "{_name(call, slips)}", "{key}": {_arguments(call, slips)}}}'


def _fenced(body: str, slips: Slips) -> str:
    return f"```json\n{body}\n```" if "fence" in slips else body


def _ended(text: str, end: str, slips: Slips) -> str:
    return text.removesuffix(end) if "no_end" in slips else text


def _after(text: str, calls: str) -> str:
    return f"{text}\n{calls}" if text else calls


# The writers.


def _hermes(text: str, calls: Sequence[Call], slips: Slips) -> str:
    blocks = [f"<tool_call>\n{_fenced(_object(c, slips), slips)}\n</tool_call>" for c in calls]
    return _ended(_after(text, "\n".join(blocks)), "\n</tool_call>", slips)


def _llama3_json(text: str, calls: Sequence[Call], slips: Slips) -> str:
    return _after(text, "; ".join(_object(call, slips, "parameters") for call in calls))


def _mistral(text: str, calls: Sequence[Call], slips: Slips) -> str:
    # The words and the marker of a call come without a break between them.
    return text + "".join(f"[TOOL_CALLS]{_name(c, slips)}[ARGS]{c.arguments}" for c in calls)


def _deepseek_v31(text: str, calls: Sequence[Call], slips: Slips) -> str:
    blocks = [
        f"<｜tool▁call▁begin｜>{_name(call, slips)}<｜tool▁sep｜>"
        f"{_fenced(call.arguments, slips)}<｜tool▁call▁end｜>"
        for call in calls
    ]
    section = f"<｜tool▁calls▁begin｜>{''.join(blocks)}<｜tool▁calls▁end｜>"
    return text + _ended(section, "<｜tool▁call▁end｜><｜tool▁calls▁end｜>", slips)


def _harmony(text: str, calls: Sequence[Call], slips: Slips) -> str:
    messages = [f"<|channel|>commentary<|message|>{text}<|end|>"] if text else []
    messages += [
        f"<|channel|>commentary to=functions.{call.name} <|constrain|>json"
        f"<|message|>{call.arguments}<|call|>"
        for call in calls
    ]
    # The first message lacks its start: the prompt ends with it.
    return _ended("<|start|>assistant".join(messages), "<|call|>", slips)


def _pythonic(text: str, calls: Sequence[Call], slips: Slips) -> str:
    written_calls = [
        f"{_name(call, slips)}({', '.join(f'{k}={v!r}' for k, v in _values(call).items())})"
        for call in calls
    ]
    return _ended(_after(text, f"[{', '.join(written_calls)}]"), "]", slips)


def _qwen3_coder(text: str, calls: Sequence[Call], slips: Slips) -> str:
    blocks = []
    for call in calls:
        values = "".join(
            f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n"
            "</parameter>\n"
            for key, value in _values(call).items()
        )
        name = _name(call, slips)
        blocks.append(f"<tool_call>\n<function={name}>\n{values}</function>\n</tool_call>")
    return _ended(_after(text, "\n".join(blocks)), "</function>\n</tool_call>", slips)


def _values(call: Call) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(call.arguments or "{}")
    return values


# The readers.


def read_objects(text: str) -> Iterator[Made]:
    """Calls as JSON objects with a name and arguments, also in a list of `tool_calls`: what a model
    that is held to a schema is shown to have said."""
    position = 0
    while (position := text.find("{", position)) >= 0:
        try:
            value, end = _json.raw_decode(text, position)
        except ValueError:
            position += 1
            continue
        position = end
        for call in value.get("tool_calls", [value]):
            if isinstance(call.get("name"), str):
                yield call["name"], call.get("arguments", call.get("parameters"))


def read_heads(head: str) -> Callable[[str], Iterator[Made]]:
    """Calls whose name is in a head, matched by `head`, with JSON arguments behind it."""
    pattern = re.compile(head)

    def read(text: str) -> Iterator[Made]:
        for found in pattern.finditer(text):
            yield found[1], _json.raw_decode(text, found.end())[0]

    return read


def _read_python(text: str) -> Iterator[Made]:
    found = re.search(r"\[\w+\(.*\)\]", text, re.DOTALL)
    try:
        calls = ast.parse(found[0], mode="eval").body.elts if found else ()  # type: ignore[attr-defined]
        for call in calls:
            yield call.func.id, {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        return  # it looked like calls, and is none


def _read_tagged(text: str) -> Iterator[Made]:
    for name, body in re.findall(r"<function=([^>]+)>\n(.*?)</function>", text, re.DOTALL):
        pairs = re.findall(r"<parameter=([^>]+)>\n(.*?)\n</parameter>", body, re.DOTALL)
        yield name, {key: _value(value) for key, value in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


RAW_FORMATS = {
    form.name: form
    for form in (
        RawFormat("hermes", _hermes, read_objects, frozenset({"fence", "args_string", "no_end"})),
        RawFormat("llama3_json", _llama3_json, read_objects, frozenset({"args_string"})),
        RawFormat("mistral", _mistral, read_heads(r"\[TOOL_CALLS\]([\w.-]+)\[ARGS\]")),
        RawFormat(
            "deepseek_v31",
            _deepseek_v31,
            read_heads("<｜tool▁call▁begin｜>([^<]+)<｜tool▁sep｜>"),
            frozenset({"fence", "no_end"}),
        ),
        RawFormat(
            "openai",
            _harmony,
            read_heads(r"to=functions\.([\w.-]+)[^{]*<\|message\|>"),
            frozenset({"no_end"}),
        ),
        RawFormat("pythonic", _pythonic, _read_python, frozenset({"no_end"})),
        RawFormat("qwen3_coder", _qwen3_coder, _read_tagged, frozenset({"no_end"})),
    )
}
