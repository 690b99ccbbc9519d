"""An account of one turn: which span of the text was taken for what, and why not for a call."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

SpanKind: TypeAlias = Literal["text", "reasoning", "call", "markup", "layout"]


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` was taken for `kind`; `why` says more, above all why it was no call."""

    start: int
    end: int
    kind: SpanKind
    why: str = ""


@dataclass(slots=True)
class Trace:
    """The spans of a turn in order; they cover the whole text without gap or overlap."""

    spans: list[Span] = field(default_factory=list)

    def add(self, start: int, end: int, kind: SpanKind, why: str = "") -> None:
        """Record a span; one that continues the last is joined to it."""
        if start == end:
            return
        last = self.spans[-1] if self.spans else None
        if last and last.kind == kind and kind in ("text", "reasoning") and last.why == why:
            start = self.spans.pop().start
        self.spans.append(Span(start, end, kind, why))
