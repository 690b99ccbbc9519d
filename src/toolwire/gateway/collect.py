"""Events -> one whole message: the sink of `stream: false`."""

from dataclasses import dataclass, field
from typing import assert_never

from toolwire.protocol.chat import ToolCall
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    Extra,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
    Usage,
)


@dataclass(slots=True)
class Whole:
    """One choice, complete."""

    content: str | None
    reasoning: str | None
    calls: list[ToolCall]
    reason: FinishReason
    extras: dict[str, list[bytes]]
    logprobs: list[bytes]

    @property
    def characters(self) -> int:
        """How much the model wrote; its reasoning counts, as it does where it is streamed."""
        said = len(self.content or "") + len(self.reasoning or "")
        return said + sum(len(call.arguments) for call in self.calls)


@dataclass(slots=True)
class Collector:
    """Joins one choice's events. `whole` is there after the `TurnEnd`."""

    usage: Usage | None = None
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _starts: list[CallStart] = field(default_factory=list)
    _arguments: list[list[str]] = field(default_factory=list)
    _extras: dict[str, list[bytes]] = field(default_factory=dict)
    _logprobs: list[bytes] = field(default_factory=list)
    _reason: FinishReason = "stop"

    def feed(self, events: list[Event]) -> None:
        """Take the next events."""
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case TextDelta(text, logprobs):
                self._text.append(text)
                if logprobs:
                    self._logprobs.append(logprobs)
            case ReasoningDelta(text):
                self._reasoning.append(text)
            case Extra(name, json):
                self._extras.setdefault(name, []).append(json)
            case CallStart():
                self._starts.append(event)
                self._arguments.append([])
            case ArgsDelta(index, json):
                self._arguments[index].append(json)
            case Usage():
                self.usage = event
            case TurnEnd(reason):
                self._reason = reason
            case CallEnd():
                pass
            case _:
                assert_never(event)

    def whole(self) -> Whole:
        """The message."""
        calls = [
            ToolCall(start.call_id, start.name, "".join(pieces), start.kind)
            for start, pieces in zip(self._starts, self._arguments, strict=True)
        ]
        text = "".join(self._text)
        return Whole(
            content=text if text or not calls else None,
            reasoning="".join(self._reasoning) or None,
            calls=calls,
            reason=self._reason,
            extras=self._extras,
            logprobs=self._logprobs,
        )
