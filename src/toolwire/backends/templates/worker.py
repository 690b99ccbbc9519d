"""Renders chat templates in a separate program, so that no template can harm the gateway.

A template comes with a model, so it is untrusted. Jinja's sandbox keeps it away from Python, but
not from looping forever or filling memory. So it runs here, with limits on memory and time
(`limited_worker`), and without keys in the environment.

The first line of input is the template, and the others are conversations. Toolwire does not import
this module.
"""

import json
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import Template, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock, Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from toolwire.backends.limited_worker import answer_lines

_MEMORY = 1 << 30
_LONGEST = 64 << 20
"""Limit of a prompt in characters: more than any context, but small enough for one read."""


class _Generation(Extension):
    """Ignores `{% generation %}`, which marks model output for training."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> Node | list[Node]:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

    def _said(self, caller: Any) -> str:
        return str(caller())


class _Refused(TemplateError):
    """The template itself rejects this conversation."""


def _raise_exception(message: str) -> NoReturn:
    raise _Refused(message)


def _tojson(value: Any, ensure_ascii: bool = False, **options: Any) -> str:  # noqa: FBT001, FBT002 - templates pass it by position
    known = {name: options[name] for name in ("indent", "separators", "sort_keys") & options.keys()}
    return json.dumps(value, ensure_ascii=ensure_ascii, **known)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def compiled(source: str) -> Template:
    """Compile a template, with the functions that chat templates expect."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _tojson
    environment.globals.update(raise_exception=_raise_exception, strftime_now=_strftime_now)
    return environment.from_string(source)


def rendered(template: Template, values: dict[str, Any]) -> str:
    """Render the prompt of one conversation. Raises `OverflowError` if it is too long."""
    pieces = []
    room = _LONGEST
    for piece in template.generate(**values):
        room -= len(piece)
        if room < 0:
            raise OverflowError("the prompt is too long")
        pieces.append(piece)
    return "".join(pieces)


class _Renderer:
    """Receives a template, then conversations."""

    def __init__(self) -> None:
        self._template: Template | None = None

    def answer(self, told: dict[str, Any]) -> dict[str, Any]:
        if self._template is None:
            self._template = compiled(told["template"])
            return {"ready": True}
        return {"prompt": rendered(self._template, told)}


def _failed(error: Exception) -> dict[str, Any]:
    refused = isinstance(error, _Refused)
    text = str(error) or type(error).__name__
    return {"error": text[:1000], "refused": refused}


if __name__ == "__main__":
    answer_lines(_Renderer().answer, _failed, memory=_MEMORY)
