"""Records how the text of one turn was parsed: what each span is, and why it is not a call."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

SpanKind: TypeAlias = Literal["text", "reasoning", "call", "markup", "layout"]


class Span(msgspec.Struct, frozen=True):
    """`text[start:end]` was parsed as `kind`. `why` is the reason, such as why it is not a call."""

    start: int
    end: int
    kind: SpanKind
    why: str = ""


@dataclass(slots=True)
class Trace:
    """The spans of a turn, in order. They cover the whole text and do not overlap."""

    spans: list[Span] = field(default_factory=list)

    def add(self, start: int, end: int, kind: SpanKind, why: str = "") -> None:
        """Record a span. If it continues the last one, the two are merged."""
        if start == end:
            return
        last = self.spans[-1] if self.spans else None
        if last and last.kind == kind and kind in ("text", "reasoning") and last.why == why:
            start = self.spans.pop().start
        self.spans.append(Span(start, end, kind, why))

    def explain(self, why: str) -> None:
        """Add a reason to text that has none."""
        self.spans = [
            replace(span, why=why) if span.kind == "text" and not span.why else span
            for span in self.spans
        ]
