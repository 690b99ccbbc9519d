"""What a model writes, in each format: the first line of an input names the format.

The laws: nothing is raised; calls are well-formed, whatever the text; live, what comes out does not
depend on how the text is cut.
"""

from collections.abc import Iterable
from functools import cache
from zlib import crc32

from tests.fuzz.cutting import pieces
from tests.fuzz.judge import check

from toolwire.conformance import cases_of
from toolwire.formats import Delivery, join, names, parser_for
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event
from toolwire.protocol.tools import ToolSpec

_SEEDS_EACH = 3


@cache
def _tools() -> tuple[ToolSpec, ...]:
    text = {"type": "string"}
    schema = {
        "type": "object",
        "properties": {"tz": text, "city": text, "days": {"type": "integer"}},
    }
    return tuple(ToolSpec(name, None, schema) for name in ("get_time", "get_weather", "f"))


def seeds() -> list[bytes]:
    """Some of each format's cases."""
    return [
        f"{name}\n{case.model_output}".encode("utf-8", "replace")
        for name in names()
        for case in list(cases_of(name))[:: max(1, len(list(cases_of(name))) // _SEEDS_EACH)]
    ]


def run(data: bytes) -> object:
    """Read the text in the format."""
    first, _, rest = data.partition(b"\n")
    name, text = first.decode("ascii", "replace"), rest.decode("utf-8", "replace")
    if name not in names():
        name = names()[crc32(first) % len(names())]
    live = _parse(name, [text], "live")
    _check_calls(live)
    cut = _parse(name, pieces(text), "live")
    _check_calls(cut)
    check(_outcome(live) == _outcome(cut), f"{name}: live, cutting does not matter")
    whole = _parse(name, [text], "whole")
    _check_calls(whole)
    joined = join(live)
    return name, min(len(joined.calls), 3), bool(joined.content), bool(joined.reasoning)


def _parse(name: str, texts: Iterable[str], delivery: Delivery) -> list[Event]:
    parser = parser_for(name, _tools(), delivery=delivery)
    return [*(event for text in texts for event in parser.feed(text)), *parser.finish()]


def _outcome(events: list[Event]) -> object:
    joined = join(events)
    complete = [event.complete for event in events if isinstance(event, CallEnd)]
    calls = [(call.name, call.arguments) for call in joined.calls]
    return joined.content, joined.reasoning, calls, complete


def _check_calls(events: list[Event]) -> None:
    open_call, begun = None, 0
    for event in events:
        if isinstance(event, CallStart):
            check((open_call, event.index) == (None, begun), "calls are numbered one by one")
            open_call, begun = event.index, begun + 1
        elif isinstance(event, ArgsDelta):
            check(event.index == open_call, "arguments belong to the open call")
        elif isinstance(event, CallEnd):
            check(event.index == open_call, "the open call ends")
            open_call = None
    check(open_call is None, "every call ends")
