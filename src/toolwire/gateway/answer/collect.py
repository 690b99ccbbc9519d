"""Joins events into one complete message, for `stream: false`."""

import msgspec

from toolwire.protocol.events import (
    ArgsDelta,
    CallStart,
    Event,
    Extra,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.tools import AssistantCall


class Whole(msgspec.Struct):
    """One complete choice."""

    content: str | None
    reasoning: str | None
    calls: list[AssistantCall]
    reason: FinishReason
    extras: dict[str, list[bytes]]
    logprobs: list[bytes]

    @property
    def characters(self) -> int:
        """The number of characters that the model wrote, including reasoning."""
        said = len(self.content or "") + len(self.reasoning or "")
        return said + sum(len(call.arguments) for call in self.calls)


class Collector(msgspec.Struct):
    """Joins the events of one choice. `whole` is available after the `TurnEnd`."""

    _text: list[str] = []
    _reasoning: list[str] = []
    _starts: list[CallStart] = []
    _arguments: list[list[str]] = []
    _extras: dict[str, list[bytes]] = {}
    _logprobs: list[bytes] = []
    _reason: FinishReason = "stop"

    def feed(self, events: list[Event]) -> None:
        """Add the next events."""
        for event in events:
            if type(event) is TextDelta:
                self._text.append(event.text)
                if event.logprobs:
                    self._logprobs.append(event.logprobs)
            elif type(event) is ArgsDelta:
                self._arguments[event.index].append(event.json)
            elif type(event) is CallStart:
                self._starts.append(event)
                self._arguments.append([])
            elif type(event) is TurnEnd:
                self._reason = event.reason
            elif type(event) is ReasoningDelta:
                self._reasoning.append(event.text)
            elif type(event) is Extra:
                self._extras.setdefault(event.name, []).append(event.json)

    def whole(self) -> Whole:
        """Return the complete message."""
        calls = [
            AssistantCall(
                start.call_id, start.name, "".join(pieces), start.kind, start.provider_id or ""
            )
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
