"""Reassembles a stream as a client does, and checks the protocol.

The rules: indexes 0, 1, 2, ... in the order of the calls; a call's first piece has its id, type
and name, and no later piece repeats them; ids are unique; a call ends when the next one begins, so
arguments are append-only.
"""

from dataclasses import dataclass, field

from toolwire.conformance.calls import ExtractedToolCall, FunctionCall
from toolwire.conformance.deltas import DeltaMessage, DeltaToolCall
from toolwire.conformance.faults import InvalidStream


@dataclass(slots=True)
class PartialCall:
    """A call that may not be complete yet."""

    id: str
    name: str
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return "".join(self.pieces)


class StreamingToolReconstructor:
    """Accumulates deltas. Raises `InvalidStream` at the first violation."""

    def __init__(self) -> None:
        self.partial_calls: list[PartialCall] = []
        self._content: list[str] = []
        self._reasoning: list[str] = []

    @property
    def other_content(self) -> str:
        """The text outside the calls so far."""
        return "".join(self._content)

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return "".join(self._reasoning)

    @property
    def tool_calls(self) -> list[ExtractedToolCall]:
        """The calls. Raises `InvalidEntity` if the arguments of one are not JSON yet."""
        return [
            ExtractedToolCall(call.id, FunctionCall(call.name, call.arguments))
            for call in self.partial_calls
        ]

    def append_delta(self, delta: DeltaMessage) -> None:
        """Add the next delta."""
        self._content.append(delta.content or "")
        self._reasoning.append(delta.reasoning or "")
        for piece in delta.tool_calls or ():
            self._append_piece(piece)

    def _append_piece(self, piece: DeltaToolCall) -> None:
        count = len(self.partial_calls)
        if piece.index == count:
            self._begin(piece)
        elif piece.index > count:
            raise InvalidStream(
                f"index {piece.index} came when {count} would be next: indexes are 0, 1, 2, ..."
            )
        elif piece.index < count - 1:
            raise InvalidStream(
                f"call {piece.index} went on after call {count - 1} had begun: calls never overlap"
            )
        else:
            self._check_continuation(piece)
        if piece.function.arguments:
            self.partial_calls[-1].pieces.append(piece.function.arguments)

    def _begin(self, piece: DeltaToolCall) -> None:
        name = piece.function.name
        if not (piece.id and piece.type and name):
            missing = [what for what, value in _once(piece) if not value]
            raise InvalidStream(
                f"the first piece of call {piece.index} has no {' and no '.join(missing)}"
            )
        for index, call in enumerate(self.partial_calls):
            if call.id == piece.id:
                raise InvalidStream(f"calls {index} and {piece.index} have one id, {piece.id!r}")
        self.partial_calls.append(PartialCall(piece.id, name))

    def _check_continuation(self, piece: DeltaToolCall) -> None:
        for what, value in _once(piece):
            if value:
                raise InvalidStream(
                    f"the {what} of call {piece.index} was sent again, as {value!r}: "
                    "clients join the two"
                )


def _once(piece: DeltaToolCall) -> tuple[tuple[str, str | None], ...]:
    """Check the fields that only a call's first piece has."""
    return ("id", piece.id), ("type", piece.type), ("name", piece.function.name)
