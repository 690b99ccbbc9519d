"""Assembles chunks into the answer that the server would have sent without streaming.

Calls are identified by index. Some servers omit the index, or use the same one for every call. Then
an id or a name begins a new call.
"""

from collections.abc import Iterable

from toolwire.client.answer import (
    CallDelta,
    Choice,
    Chunk,
    ChunkChoice,
    Completion,
    Delta,
    Function,
    FunctionDelta,
    Message,
    ToolCall,
)
from toolwire.client.wire import new_call_id


class Accumulator:
    """One streamed answer. `feed` adds a chunk; `answer` returns the answer so far."""

    def __init__(self) -> None:
        self._head: Chunk | None = None
        self._last = Chunk()
        self._choices: dict[int, _Choice] = {}

    @property
    def begun(self) -> bool:
        """Whether any chunk has arrived."""
        return self._head is not None

    @property
    def finished(self) -> bool:
        """Whether every choice has its finish reason."""
        return bool(self._choices) and all(c.finish_reason for c in self._choices.values())

    def feed(self, chunk: Chunk) -> None:
        """Add the next chunk."""
        if self._head is None:
            self._head = chunk
        if chunk.usage is not None or chunk.service_tier or chunk.system_fingerprint:
            self._keep(chunk)
        for choice in chunk.choices:
            if choice.index not in self._choices:
                self._choices[choice.index] = _Choice()
            self._choices[choice.index].feed(choice)

    def answer(self) -> Completion:
        """Return the answer so far."""
        head = self._head or Chunk()
        last = self._last
        return Completion(
            choices=[choice.whole(index) for index, choice in sorted(self._choices.items())],
            id=head.id,
            created=head.created,
            model=head.model,
            usage=last.usage,
            system_fingerprint=last.system_fingerprint,
            service_tier=last.service_tier,
        )

    def _keep(self, chunk: Chunk) -> None:
        last = self._last
        last.usage = chunk.usage or last.usage
        last.service_tier = chunk.service_tier or last.service_tier
        last.system_fingerprint = chunk.system_fingerprint or last.system_fingerprint


class _Choice:
    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls = _Calls()
        self._logprobs: dict[str, list[object]] = {}

    def feed(self, choice: ChunkChoice) -> None:
        delta = choice.delta
        if delta.content:
            self._content.append(delta.content)
        if delta.tool_calls:
            self._calls.feed(delta.tool_calls)
        if choice.finish_reason:
            self.finish_reason = choice.finish_reason
        self._feed_rare(delta)
        if isinstance(choice.logprobs, dict):
            self._feed_logprobs(choice.logprobs)

    def _feed_rare(self, delta: Delta) -> None:
        if reasoning := delta.reasoning_content or delta.reasoning:
            self._reasoning.append(reasoning)
        if delta.refusal:
            self._refusal.append(delta.refusal)
        if delta.function_call:
            self._calls.feed([CallDelta(0, function=delta.function_call)])

    def _feed_logprobs(self, logprobs: dict[str, object]) -> None:
        for key, entries in logprobs.items():
            if isinstance(entries, list):
                self._logprobs.setdefault(key, []).extend(entries)

    def whole(self, index: int) -> Choice:
        calls = self._calls.whole()
        message = Message(
            role="assistant",
            content="".join(self._content) or None,
            tool_calls=calls or None,
            refusal="".join(self._refusal) or None,
            reasoning_content="".join(self._reasoning) or None,
        )
        return Choice(message, index, self.finish_reason, self._logprobs or None)


class _Calls:
    """The calls of one choice."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._open: dict[int, _Call] = {}

    def feed(self, deltas: Iterable[CallDelta]) -> None:
        for delta in deltas:
            self._find(delta).feed(delta)

    def whole(self) -> list[ToolCall]:
        return [call.whole() for call in self._calls]

    def _find(self, delta: CallDelta) -> "_Call":
        call = self._open.get(delta.index) if delta.index is not None else self._latest()
        if call is None or call.is_over(delta):
            call = _Call()
            self._calls.append(call)
            if delta.index is not None:
                self._open[delta.index] = call
        return call

    def _latest(self) -> "_Call | None":
        return self._calls[-1] if self._calls else None


class _Call:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self._arguments: list[str] = []

    def is_over(self, delta: CallDelta) -> bool:
        """Whether this delta begins another call, whatever its index says."""
        name = delta.function.name if delta.function else None
        if delta.id and self.id:
            return delta.id != self.id
        return bool(name and self.name and self._arguments and delta.index is None)

    def feed(self, delta: CallDelta) -> None:
        self.id = self.id or delta.id or ""
        function = delta.function or FunctionDelta()
        if function.name and function.name != self.name:
            self.name += function.name  # some servers split it, others repeat it
        if function.arguments:
            self._arguments.append(function.arguments)

    def whole(self) -> ToolCall:
        self.id = self.id or new_call_id()
        return ToolCall(self.id, Function(self.name, _once("".join(self._arguments))))


def _once(arguments: str) -> str:
    """Drop repeated arguments: some servers send them in pieces, and then once more as a whole."""
    half = arguments[: len(arguments) // 2]
    twice = half.startswith("{") and half.endswith("}") and arguments == half + half
    return half if twice else arguments
