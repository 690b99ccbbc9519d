"""Writes the turns of a conversation as messages: see `items.py`."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from toolwire.protocol.content import Content, ImagePart, Part, TextPart, text_of
from toolwire.protocol.requests import ChatMessage, Role
from toolwire.protocol.tools import AssistantCall
from toolwire.surfaces.responses.request.parts import joined

IMAGE_BELOW = "(image, see below)"
_NO_TEXT = "(no text)"


class InputTurn(msgspec.Struct):
    """Consecutive items of the assistant."""

    at: int
    reasoning: list[str] = []
    encrypted: list[str] = []
    content: Content = None
    calls: list[AssistantCall] = []
    results: dict[str, Content] = {}
    places: dict[str, int] = {}


class InputMessage(msgspec.Struct):
    """An item of another role."""

    at: int
    role: Role
    content: Content


class MessageWriter(msgspec.Struct):
    """Converts turns to messages, in the order that every chat template accepts: one system
    message, then alternating user and assistant messages."""

    messages: list[ChatMessage]
    positions: list[int]
    """The index of the item that each message came from."""

    def write(self, system: Sequence[str], entries: Sequence[InputTurn | InputMessage]) -> None:
        if system:
            self._add(ChatMessage("system", "\n\n".join(system)), 0)
        for entry in entries:
            if isinstance(entry, InputTurn):
                self._assistant(entry)
            else:
                self._user(entry)

    def _add(self, message: ChatMessage, at: int) -> None:
        self.messages.append(message)
        self.positions.append(at)

    def _user(self, said: InputMessage) -> None:
        content = said.content
        if said.role != "user":
            # A later system message must neither move to the start, which would change the whole
            # prompt, nor stay a system message, which many chat templates refuse.
            content = f"<system-reminder>\n{text_of(content, chr(10))}\n</system-reminder>"
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == "user":
            merged = ChatMessage("user", joined(last.content, content))
            self.messages[-1] = merged
            return
        self._add(ChatMessage("user", content), said.at)

    def _assistant(self, turn: InputTurn) -> None:
        if not turn.content and not turn.calls:
            return
        reasoning = "\n\n".join(turn.reasoning) or None
        message = ChatMessage("assistant", turn.content, tuple(turn.calls), reasoning=reasoning)
        if turn.encrypted:
            message = replace(message, encrypted_reasoning=tuple(turn.encrypted))
        self._add(message, turn.at)
        images: list[Part] = []
        for call in turn.calls:
            key: str | None = call.call_id
            if key not in turn.results:
                key = _other_key(turn, call)
            if key is not None:
                text, shown = _split(turn.results[key])
                self._add(
                    ChatMessage("tool", text, call_id=call.call_id), turn.places[call.call_id]
                )
                if shown:
                    images += [TextPart(f"The output of {call.name}:"), *shown]
        if images:
            self._user(InputMessage(turn.at, "user", tuple(images)))


def _other_key(turn: InputTurn, call: AssistantCall) -> str | None:
    """Return the id of the call's item, if its result refers to that."""
    at = turn.places[call.call_id]
    return next((key for key in turn.results if turn.places.get(key) == at), None)


def _split(content: Content) -> tuple[str, list[Part]]:
    """Split a result into text and other parts, which no server accepts in a tool message."""
    if content is None or isinstance(content, str):
        return content or "", []
    texts = [part.text for part in content if isinstance(part, TextPart)]
    others: list[Part] = [part for part in content if not isinstance(part, TextPart)]
    below = IMAGE_BELOW if any(isinstance(part, ImagePart) for part in others) else _NO_TEXT
    return "\n".join(texts) or below, others
