"""Raw-text models of every format: by an independent hand where there is one, else by ours."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tests.e2e.gateway.scenes import TOOLS
from tests.scripted.answer import Answer, Call
from tests.scripted.raw import Raw
from tests.scripted.raw_formats import RAW_FORMATS, Made, RawFormat, Slips, written
from tests.scripted.request import ChatRequest
from tests.scripted.scripts import Script, load_script

from toolwire.formats import RenderedCall, extract, names, provider_id, render_calls
from toolwire.protocol.tools import Tool

ALL = tuple(names())
INDEPENDENT = tuple(RAW_FORMATS)
_TOOLS = [Tool(tool["function"]["name"], "", tool["function"]["parameters"]) for tool in TOOLS]


def form_of(name: str, tools: Sequence[Tool] = _TOOLS) -> RawFormat:
    """How the models of a format write. `tools`: some formats are read only with them."""
    return RAW_FORMATS.get(name) or _by_renderer(name, tools)


def raw(name: str, script: Any, *slips: str, tools: Sequence[Tool] = _TOOLS) -> Raw:
    """A model that has no tools and writes the format `name`."""
    return Raw(form_of(name, tools), load_script(script), frozenset(slips))


def leaky(name: str, script: Any, *slips: str) -> Script:
    """A model that was given its tools natively, and whose server leaves the calls in the text."""
    inner, form = load_script(script), form_of(name)

    def play(request: ChatRequest) -> Answer:
        answer = inner(request)
        text = written(form, answer.text, answer.calls, slips)
        return replace(answer, text=text, calls=())

    return play


def _by_renderer(name: str, tools: Sequence[Tool]) -> RawFormat:
    def write(text: str, calls: Sequence[Call], slips: Slips) -> str:
        rendered = [
            RenderedCall(call.name, json.loads(call.arguments), provider_id(name, call.name, at))
            for at, call in enumerate(calls)
        ]
        return f"{text}\n{render_calls(name, rendered)}" if text else render_calls(name, rendered)

    def read(text: str) -> Iterator[Made]:
        for call in extract(name, text, tools).calls:
            yield call.name, call.decoded()

    return RawFormat(name, write, read)
