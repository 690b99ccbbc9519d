"""The conformance cases as the laws see them, and a parse in any pieces."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from toolwire.formats import Delivery, Parser, Trace, join, parser_for
from toolwire.protocol.events import CallEnd, Event
from toolwire.protocol.tools import ToolSpec

_FOLDER = files("toolwire.conformance") / "cases"


@dataclass(frozen=True)
class Case:
    """One text of one format, and what it must come to."""

    format: str
    name: str
    text: str
    tools: tuple[ToolSpec, ...]
    content: str | None
    reasoning: str | None
    calls: list[dict[str, Any]]
    malformed: bool

    def __str__(self) -> str:
        return f"{self.format}:{self.name}"

    def parser(self, delivery: Delivery = "live", trace: Trace | None = None) -> Parser:
        return parser_for(self.format, self.tools, delivery=delivery, trace=trace)


def _tool(record: dict[str, Any]) -> ToolSpec:
    return ToolSpec(record["name"], record.get("description"), record.get("parameters", {}))


@cache
def standard_tools() -> tuple[ToolSpec, ...]:
    records = json.loads((_FOLDER / "_tools.json").read_text("utf-8"))
    return tuple(map(_tool, records))


@cache
def all_cases() -> tuple[Case, ...]:
    paths = sorted((p for p in _FOLDER.iterdir() if not p.name.startswith("_")), key=str)
    return tuple(case for path in paths for case in _read(json.loads(path.read_text("utf-8"))))


def _read(page: dict[str, Any]) -> Iterator[Case]:
    for record in page["cases"]:
        standard = record["tools"] == "standard"
        yield Case(
            format=page["format"],
            name=record["name"],
            text=record["text"],
            tools=standard_tools() if standard else tuple(map(_tool, record["tools"])),
            content=record["content"],
            reasoning=record["reasoning"],
            calls=record["calls"],
            malformed=record.get("malformed", False),
        )


@cache
def cases_of(name: str) -> list[Case]:
    return [case for case in all_cases() if case.format == name]


def parse(parser: Parser, pieces: Iterable[str]) -> list[Event]:
    events = [event for piece in pieces for event in parser.feed(piece)]
    return [*events, *parser.finish()]


def chunks(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def outcome(events: list[Event]) -> tuple[Any, ...]:
    """What events come to, to the byte."""
    joined = join(events)
    complete = [event.complete for event in events if isinstance(event, CallEnd)]
    return joined.content, joined.reasoning, tuple(joined.calls), tuple(complete)
