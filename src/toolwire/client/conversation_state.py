"""The state of a conversation: builds requests and records answers. Does no I/O."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import msgspec

from toolwire.client.answer import (
    CallDelta,
    Chunk,
    ChunkChoice,
    Completion,
    Delta,
    FunctionDelta,
    Message,
    Usage,
)
from toolwire.client.errors import BadAnswer, ConfigurationError
from toolwire.client.request import Messages, ToolChoice, encode, message_list, wire_choice
from toolwire.client.streaming.accumulate import Accumulator
from toolwire.client.tools.toolbox import toolbox_of
from toolwire.client.transport import ApiRequest

CHAT = "/native/v1/chat"
CONVERSATIONS = "/native/v1/conversations"
CALL_MAP = "toolwire-call-map"
_NEW = "new"


@dataclass(slots=True)
class ConversationState:
    """One conversation. Keeps the history, unless it is `stored` by the server."""

    id: str | None = None
    stored_by_server: bool = True
    _history: list[Any] = field(default_factory=list)
    _call_map: str | None = None
    _tools: Any = None
    _begun: bool = False

    @property
    def needs_model(self) -> bool:
        """Whether the request must name the model. A stored conversation remembers it."""
        return not (self.stored_by_server and self._begun)

    @contextmanager
    def may_know_model(self) -> Iterator[None]:
        """Tolerate a missing model if the conversation has an id: the server may know the model."""
        try:
            yield
        except ConfigurationError:
            if self.id is None:
                raise

    def turn(
        self,
        messages: Messages,
        *,
        model: str | None,
        tools: Any,
        tool_choice: ToolChoice | None,
        stream: bool,
        parameters: Mapping[str, Any],
    ) -> "SentTurn":
        """Build the next request."""
        new = _new_messages(message_list(messages))
        body: dict[str, Any] = {"messages": [*self._history, *map(_native, new)]}
        body |= {name: value for name, value in parameters.items() if value is not None}
        if model is not None:
            body["model"] = model
        self._add_tools(body, tools)
        if tool_choice is not None:
            body["tool_choice"] = wire_choice(tool_choice)
        if self.stored_by_server:
            body["conversation_id"] = self.id or _NEW
        if stream:
            body["stream"] = True
        results = [{"role": "tool", **result} for result in body.get("tool_results", ())]
        return SentTurn(self, encode(body), stream, [*map(_native, new), *results])

    def _add_tools(self, body: dict[str, Any], tools: Any) -> None:
        """Add the tools, unless the server has them from an earlier turn."""
        if tools is None:
            definitions = self._tools
        else:
            box, plain = toolbox_of(tools)
            definitions = [*box.definitions, *plain]
        if definitions is None or (self.stored_by_server and definitions == self._tools):
            return
        body["tools"] = definitions
        self._tools = definitions

    def headers(self) -> dict[str, str]:
        """Return the headers of the next request."""
        if self.stored_by_server:
            # A retried request gets the existing answer, not a new one.
            return {"idempotency-key": uuid4().hex}
        return {CALL_MAP: self._call_map} if self._call_map else {}

    def learn(
        self,
        sent: Sequence[Any],
        answer: Message,
        conversation_id: str | None,
        call_map: str | None,
    ) -> None:
        """Record a finished turn."""
        self._begun = True
        if self.stored_by_server:
            self.id = conversation_id or self.id
            return
        self._call_map = call_map or self._call_map
        self._history += [*sent, _native(answer)]

    def stored(self, method: str = "GET") -> ApiRequest:
        """Build a request about the stored conversation."""
        if not self.stored_by_server or self.id is None:
            raise ConfigurationError("The server keeps nothing of this conversation yet.")
        return ApiRequest(f"{CONVERSATIONS}/{quote(self.id, safe='')}", method=method, at_root=True)

    def forget(self) -> None:
        """Reset after deletion: the server no longer has the model or the tools."""
        self._begun, self._tools = False, None

    def read_stored(self, body: bytes) -> dict[str, Any]:
        """Read a stored conversation."""
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise BadAnswer("The server's conversation cannot be read.") from None


@dataclass(slots=True)
class SentTurn:
    """A turn whose request was sent."""

    state: ConversationState
    body: bytes
    stream: bool
    said: list[Any]
    _answer: Accumulator = field(default_factory=Accumulator)

    def outgoing(self, timeout: float | None, headers: Mapping[str, str] | None) -> ApiRequest:
        """The request."""
        own = {**self.state.headers(), **(headers or {})}
        return ApiRequest(
            CHAT, self.body, headers=own, timeout=timeout, stream=self.stream, at_root=True
        )

    def took(self, answer: Completion) -> Completion:
        """Handle a whole answer."""
        raw = answer.raw
        found = raw.get("conversation_id") if isinstance(raw, dict) else None
        self.state.learn(self.said, answer.message, found, answer.headers.get(CALL_MAP))
        return answer

    def read(self, data: bytes) -> Chunk:
        """Convert an event of a streamed answer to a chunk."""
        try:
            event = msgspec.json.decode(data, type=dict[str, Any])
            make = _CHUNKS.get(event.get("type", ""))
            chunk = make(event) if make is not None else Chunk()
        except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError):
            raise BadAnswer("The server did not answer as Toolwire's native API does.") from None
        self._answer.feed(chunk)
        if event.get("type") == "done":
            message = self._answer.answer().message
            self.state.learn(
                self.said, message, event.get("conversation_id"), event.get("call_map")
            )
        return chunk


def _new_messages(messages: list[Any]) -> list[Any]:
    """Return the messages that the server does not have yet: those after its last answer."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        role = message.get("role") if isinstance(message, Mapping) else message.role
        if role == "assistant":
            return messages[at + 1 :]
    return messages


def _native(message: Any) -> Any:
    """Convert a message to the native API, where arguments are objects."""
    if not isinstance(message, Message) or not message.tool_calls:
        return message
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": call.function.name,
                "arguments": msgspec.Raw(call.function.arguments.encode() or b"{}"),
            },
        }
        for call in message.tool_calls
    ]
    return {"role": "assistant", "content": message.content, "tool_calls": calls}


def _delta(**fields: Any) -> Chunk:
    return Chunk([ChunkChoice(Delta(**fields))])


def _call(event: Mapping[str, Any]) -> Chunk:
    call = event["tool_call"]
    arguments = msgspec.json.encode(call["function"]["arguments"]).decode()
    function = FunctionDelta(call["function"]["name"], arguments)
    return _delta(tool_calls=[CallDelta(event["index"], call["id"], function, "function")])


def _done(event: Mapping[str, Any]) -> Chunk:
    return Chunk(
        [ChunkChoice(Delta(), finish_reason=event["finish_reason"])],
        id=event["id"],
        created=event["created"],
        model=event["model"],
    )


_CHUNKS: Mapping[str, Callable[[Mapping[str, Any]], Chunk]] = {
    "text.delta": lambda event: _delta(content=event["delta"]),
    "reasoning.delta": lambda event: _delta(reasoning_content=event["delta"]),
    "tool_call": _call,
    "usage": lambda event: Chunk(usage=msgspec.convert(event["usage"], Usage)),
    "done": _done,
}
