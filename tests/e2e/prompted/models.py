"""Raw-text models of every format, none of them written by the code under test."""

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
from tests.unit.conformance.wire.parts import Call as WireCall
from tests.unit.conformance.wire.parts import Calls as WireCalls
from tests.unit.conformance.wire.parts import Text
from tests.unit.conformance.wire.systematic import WIRES

from toolwire.formats import extract, names
from toolwire.protocol.tools import ToolSpec

ALL = tuple(names())
INDEPENDENT = tuple(RAW_FORMATS)
"""Formats of which a model also makes slips."""
_WIRES = {wire.format: wire for wire in WIRES}
_TOOLS = [ToolSpec(tool["function"]["name"], "", tool["function"]["parameters"]) for tool in TOOLS]


def form_of(name: str, tools: Sequence[ToolSpec] = _TOOLS) -> RawFormat:
    """How the models of a format write. `tools`: some formats are read only with them."""
    return RAW_FORMATS.get(name) or _by_wire(name, tools)


def raw(name: str, script: Any, *slips: str, tools: Sequence[ToolSpec] = _TOOLS) -> Raw:
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


def _by_wire(name: str, tools: Sequence[ToolSpec]) -> RawFormat:
    """By the writer that knows nothing of the catalogue. What the model is shown of its own earlier
    calls was written by Toolwire, so that is read by Toolwire, too."""
    wire = _WIRES[name]

    def write(text: str, calls: Sequence[Call], slips: Slips) -> str:
        made = WireCalls(tuple(WireCall(c.name, json.loads(c.arguments)) for c in calls))
        return wire.write((Text(f"{text}\n"), made) if text else (made,))

    def read(text: str) -> Iterator[Made]:
        for call in extract(name, text, tools).calls:
            yield call.name, call.decoded()

    return RawFormat(name, write, read)
