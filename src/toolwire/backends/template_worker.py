"""Renders chat templates: a program of its own, so that no template can harm the gateway.

A template comes with a model, from wherever the model came from. Jinja's sandbox keeps it from
Python, but not from looping for ever or filling the memory: so it runs here, with limits on the
memory and on the time for each answer, and no keys in the environment. The limits are the
system's: they hold whatever the template does, and whatever becomes of the parent.

Told on stdin, one line of JSON each: first the template, then conversations; answers likewise on
stdout. Imports nothing of Toolwire, and Toolwire imports nothing of this.
"""

import json
import resource
import signal
import sys
from contextlib import suppress
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import Template, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock, Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

_MEMORY = 1 << 30
_LONGEST = 64 << 20
"""Characters of a prompt: more than any context, and little enough to be read at once."""


class _Generation(Extension):
    """`{% generation %}`, which marks for training what the model says: as if it were not there."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> Node | list[Node]:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

    def _said(self, caller: Any) -> str:
        return str(caller())


class _Refused(TemplateError):
    """The template itself does not want this conversation."""


def _raise_exception(message: str) -> NoReturn:
    raise _Refused(message)


def _tojson(value: Any, ensure_ascii: bool = False, **options: Any) -> str:  # noqa: FBT001, FBT002 - templates call it so
    known = {name: options[name] for name in ("indent", "separators", "sort_keys") & options.keys()}
    return json.dumps(value, ensure_ascii=ensure_ascii, **known)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def compiled(source: str) -> Template:
    """The template, with what those of models expect to find."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _tojson
    environment.globals.update(raise_exception=_raise_exception, strftime_now=_strftime_now)
    return environment.from_string(source)


def rendered(template: Template, values: dict[str, Any]) -> str:
    """The prompt of one conversation. Raises `OverflowError` if it is too long."""
    pieces = []
    room = _LONGEST
    for piece in template.generate(**values):
        room -= len(piece)
        if room < 0:
            raise OverflowError("the prompt is too long")
        pieces.append(piece)
    return "".join(pieces)


def _answer(template: Template | None, told: dict[str, Any]) -> tuple[Template | None, Any]:
    if template is None:
        return compiled(told["template"]), {"ready": True}
    return template, {"prompt": rendered(template, told)}


def _failed(error: Exception) -> dict[str, Any]:
    refused = isinstance(error, _Refused)
    text = str(error) or type(error).__name__
    return {"error": text[:1000], "refused": refused}


def _limit(what: int, most: int) -> None:
    """Allow ourselves less. A system that does not know this limit leaves it at the time."""
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (most, most))


def main() -> None:
    """Answer line by line until nobody asks any more. The argument: the seconds for each answer."""
    seconds = float(sys.argv[1])
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _limit(resource.RLIMIT_AS, _MEMORY)
    _limit(resource.RLIMIT_CORE, 0)
    template: Template | None = None
    for line in sys.stdin.buffer:
        # Of work, not of waiting for a busy machine. When it is over, the system ends us.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            template, answer = _answer(template, json.loads(line))
        except Exception as error:  # noqa: BLE001 - a template can raise anything
            answer = _failed(error)
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)  # to read the next one is no work at this one


if __name__ == "__main__":
    main()
