"""The report about one text: what was found, how each span was read, and why."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolwire.cli.reports.columns import in_columns, is_piped
from toolwire.formats import (
    AUTO,
    Extracted,
    OutputDetector,
    Span,
    Trace,
    detect_output,
    extract,
    names,
    notice_mismatch,
    parser_for,
)
from toolwire.protocol.events import Event
from toolwire.protocol.tools import ToolSpec

_STYLES = {"call": "green", "reasoning": "magenta", "markup": "dim", "layout": "dim", "text": ""}
_SHOWN = 100
_PLAIN_HEADS = ("from", "to", "taken for", "because", "text")
_TITLE = "how each span was read"
_HEADS = ("from", "to", "taken for", "text", "because")


@dataclass(frozen=True, slots=True)
class ParseReport:
    """What a format finds in a text."""

    format: str
    """Empty if it was to be detected and no format finds a call."""
    text: str
    tools: tuple[ToolSpec, ...]
    found: Extracted
    spans: list[Span]
    chosen: str
    hint: str

    @classmethod
    def of(cls, name: str, text: str, tools: tuple[ToolSpec, ...]) -> Self:
        """Read a text, and check whether another format would find more."""
        trace, chosen, other = Trace(), "", None
        found = extract(name, text, tools, trace=trace)
        if name == AUTO:
            detected = detect_output(text, tools)
            name = detected.format if detected else ""
            chosen = detected.reason if detected else f"no call found in {len(names())} formats"
        if found.format not in ("", name):
            name = found.format
            chosen = "the answer is nothing but calls" if found.calls else "the answer begins so"
        if not (found.calls or chosen):
            other = notice_mismatch(name, text, tools)
        if not found.calls and (why := _why_text(text, tools)):
            trace.explain(why)
        hint = f"{other.reason}: try --format {other.format}" if other else ""
        return cls(name, text, tools, found, trace.spans, chosen, hint)

    def show(self, size: int | None, *, as_json: bool) -> None:
        """Print it; with `size`, the events of each piece first."""
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(self._facts(size)), indent=2))
            return
        console = Console(soft_wrap=True, highlight=False)
        if size:
            for end, event in self._events(size):
                console.print(f"{end:>7}  {_event_words(event)}", markup=False)
            console.print()
        for label, value in self._result():
            console.print(f"{label:<11}{value}", markup=False)
        if is_piped():
            click.echo(_TITLE)
            for line in in_columns([_PLAIN_HEADS, *self._rows()]):
                click.echo(line)
        else:
            console.print(self._trace())
        if self.hint:
            click.echo(f"Note: {self.hint}", err=True)

    def _facts(self, size: int | None) -> dict[str, Any]:
        facts: dict[str, Any] = {"format": self.format or None, "chosen": self.chosen}
        facts |= result_of(self.found)
        facts["trace"] = [{**span_facts(span), "text": self._of(span)} for span in self.spans]
        facts["hint"] = self.hint
        if size:
            facts["events"] = [
                {"after": end, **_tagged(event)} for end, event in self._events(size)
            ]
        return facts

    def _events(self, size: int) -> list[tuple[int, Event]]:
        """The events, each with how much of the text had been read when it came."""
        parser = parser_for(self.format or "hermes", self.tools)
        events: list[tuple[int, Event]] = []
        for start in range(0, len(self.text), size):
            end = min(start + size, len(self.text))
            events += [(end, event) for event in parser.feed(self.text[start:end])]
        return [*events, *((len(self.text), event) for event in parser.finish())]

    def _of(self, span: Span) -> str:
        return self.text[span.start : span.end]

    def _result(self) -> Iterator[tuple[str, str]]:
        why = f"  ({self.chosen})" if self.chosen else ""
        yield "format", f"{self.format or 'none'}{why}"
        yield "content", _quoted(self.found.content)
        yield "reasoning", _quoted(self.found.reasoning)
        for number, call in enumerate(self.found.calls):
            yield (
                f"call {number}",
                f"{call.name}  id {call.provider_id}" if call.provider_id else call.name,
            )
            yield "", call.arguments
        if not self.found.calls:
            yield "calls", "none"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for span in self.spans:
            place = str(span.start), str(span.end), span.kind
            yield *place, span.why, json.dumps(self._of(span), ensure_ascii=False)

    def _trace(self) -> Table:
        table = Table(title=_TITLE, title_justify="left", box=None)
        for head in _HEADS:
            table.add_column(head, overflow="fold")
        for span in self.spans:
            shown = Text(_short(self._of(span)), style=_STYLES[span.kind])
            table.add_row(str(span.start), str(span.end), span.kind, shown, Text(span.why))
        return table


def result_of(found: Extracted) -> dict[str, Any]:
    """What was found, to be encoded as JSON; arguments stay as they were written."""
    calls = [
        {
            "name": call.name,
            "arguments": msgspec.Raw(call.arguments.encode()),
            "id": call.provider_id,
        }
        for call in found.calls
    ]
    return {"content": found.content, "reasoning": found.reasoning, "calls": calls}


def span_facts(span: Span) -> dict[str, Any]:
    """A span as JSON values."""
    return {"start": span.start, "end": span.end, "kind": span.kind, "why": span.why}


def _tagged(event: Event) -> dict[str, Any]:
    fields: dict[str, Any] = {
        key: value
        for key, value in msgspec.structs.asdict(event).items()
        if key in _EVENT_FIELDS and value is not None
    }
    return {"event": type(event).__name__, **fields}


_EVENT_FIELDS = ("text", "index", "name", "json", "complete", "provider_id")


def _event_words(event: Event) -> str:
    facts = _tagged(event)
    name = facts.pop("event")
    return f"{name:<14} " + "  ".join(
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()
    )


def _quoted(text: str | None) -> str:
    return "none" if text is None else json.dumps(text, ensure_ascii=False)


def _short(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if len(quoted) <= _SHOWN else f"{quoted[: _SHOWN - 24]} ... {quoted[-18:]}"


def _why_text(text: str, tools: tuple[ToolSpec, ...]) -> str:
    """Why something like a call of these tools is text; empty if there is nothing like it."""
    detector = OutputDetector(tools)
    detector.feed(text)
    detector.finish()
    return detector.why
