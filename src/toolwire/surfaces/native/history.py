"""Converts messages of the native API to the gateway's messages, in effective order."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError
from toolwire.protocol.content import Content, Part
from toolwire.protocol.requests import ChatMessage, Role
from toolwire.protocol.tools import AssistantCall
from toolwire.surfaces.chat.parts import read_part
from toolwire.surfaces.explain import check_nesting, empty_array
from toolwire.surfaces.native import wire
from toolwire.surfaces.native.fields import check_depth
from toolwire.surfaces.native.ids import ToolCallIdMap
from toolwire.surfaces.native.problems import Problems

UNKNOWN_ID = (
    "Unknown tool call id. Send the id of a call that an earlier answer of this conversation made: "
    "ids of other conversations, of other API keys and of expired conversations are unknown."
)
_encode = msgspec.json.Encoder().encode
_ROLES: dict[type[Any], Role] = {
    wire.SystemMessage: "system", wire.DeveloperMessage: "developer", wire.UserMessage: "user",
}  # fmt: skip


class NativeHistory(msgspec.Struct):
    """Builds a conversation: messages, their wire originals, and the location of each in the
    request."""

    ids: ToolCallIdMap
    problems: Problems
    depth: int
    known_only: bool = False
    """Whether calls of the history must be in `ids`. Otherwise they are added."""
    messages: list[ChatMessage] = msgspec.field(default_factory=list)
    origins: list[str] = msgspec.field(default_factory=list)
    sources: list[wire.MessageWire] = msgspec.field(default_factory=list)
    _calls: int = 0

    def add(self, message: wire.MessageWire, where: str) -> None:
        """Add a message."""
        self._insert(len(self.messages), message, where)

    def add_results(self, results: Sequence[wire.ToolResult]) -> None:
        """Add results after the calls that they answer: those of the last answer."""
        at = len(self.messages)
        while at and self.messages[at - 1].role not in ("assistant", "tool"):
            at -= 1
        at = at or len(self.messages)
        for number, result in enumerate(results):
            message = wire.ToolMessage(result.tool_call_id, result.content, result.is_error)
            self._insert(at + number, message, f"tool_results[{number}]")

    def _insert(self, at: int, message: wire.MessageWire, where: str) -> None:
        self.messages.insert(at, self._message(message, where))
        self.origins.insert(at, where)
        self.sources.insert(at, message)

    def _message(self, message: wire.MessageWire, where: str) -> ChatMessage:
        if isinstance(message, wire.ToolMessage):
            return self._result(message, where)
        content = self._content(message.content, f"{where}.content")
        if isinstance(message, wire.AssistantMessage):
            calls = tuple(
                self._call(call, f"{where}.tool_calls[{number}]")
                for number, call in enumerate(message.tool_calls or ())
            )
            return ChatMessage(
                "assistant", content, calls, "", message.reasoning_content, message.name
            )
        return ChatMessage(_ROLES[type(message)], content, name=message.name)

    def _content(self, said: str | list[Raw] | None, where: str) -> Content:
        if said is None or isinstance(said, str):
            return said
        if not said:
            self.problems.take([empty_array(where)])
        parts: list[Part] = []
        for number, part in enumerate(said):
            raw, place = bytes(part), f"{where}[{number}]"
            try:
                check_nesting(raw, place, self.depth)
                parts.append(read_part(raw, place))
            except RequestError as error:
                self.problems.take([error])
        return tuple(parts)

    def _call(self, call: wire.MessageToolCall, where: str) -> AssistantCall:
        if call.id not in self.ids:
            if self.known_only:
                self.problems.add(f"{where}.id", UNKNOWN_ID, "unknown_tool_call_id")
            self.ids.add(call.id)
        self._calls += 1
        provider_id = self.ids.provider_id(call.id, self._calls)
        arguments = call.function.arguments
        check_depth(arguments, f"{where}.function.arguments", self.depth, self.problems)
        text = _encode(arguments).decode()
        return AssistantCall(call.id, call.function.name, text, provider_id=provider_id)

    def _result(self, result: wire.ToolMessage, where: str) -> ChatMessage:
        if result.tool_call_id not in self.ids:
            self.problems.add(f"{where}.tool_call_id", UNKNOWN_ID, "unknown_tool_call_id")
        content = result.content
        if not isinstance(content, str):
            check_depth(content, f"{where}.content", self.depth, self.problems)
            content = _encode(content).decode()
        is_error = bool(result.is_error)
        return ChatMessage("tool", content, call_id=result.tool_call_id, is_error=is_error)
