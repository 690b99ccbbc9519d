"""Tools for a model whose server has none: written into the conversation, in the model's format.

The client's own system prompt is kept, and the tools follow it. Earlier calls and results are
written as the format writes them. Text of others (users, results, tool descriptions) cannot open
a call, close a result or start a turn: the format's markers are broken up in it.
"""

from collections.abc import Sequence

import msgspec

from toolwire.formats import (
    RenderedCall,
    RenderedResult,
    get,
    provider_id,
    render_calls,
    render_results,
    render_tools,
)
from toolwire.formats.neutral import neutralize
from toolwire.protocol.chat import Message, ToolCall, ToolChoice, ToolSet

_ONE_CALL = "Make at most one call."


def demand_of(choice: ToolChoice) -> str:
    """What tool_choice demands, said to the model."""
    if choice.named and choice.allowed:
        return f"You must call the tool {next(iter(choice.allowed))} now, and no other."
    return "You must call at least one of the tools now."


def prompted(
    messages: Sequence[Message],
    tools: ToolSet,
    choice: ToolChoice,
    *,
    parallel: bool,
    format_name: str,
) -> list[Message]:
    """The conversation for a chat server that knows nothing of tools."""
    writer = _Writer(format_name)
    written = writer.conversation(messages)
    if not tools.tools or choice.mode == "none":
        return written
    lines = [render_tools(format_name, list(tools.tools.values()))]
    if choice.mode == "required":
        lines.append(demand_of(choice))
    if not parallel:
        lines.append(_ONE_CALL)
    return _with_system(written, "\n\n".join(lines))


def _with_system(messages: list[Message], text: str) -> list[Message]:
    first = messages[0] if messages else None
    if first is None or first.role not in ("system", "developer"):
        return [Message("system", text), *messages]
    if isinstance(first.content, str) or first.content is None:
        joined: str | list[bytes] = f"{first.content}\n\n{text}" if first.content else text
    else:
        joined = [*first.content, msgspec.json.encode({"type": "text", "text": f"\n\n{text}"})]
    return [Message(first.role, joined, name=first.name), *messages[1:]]


class _Writer:
    """Writes one conversation. Calls are numbered over all of it, as some formats demand."""

    def __init__(self, format_name: str) -> None:
        self._format = format_name
        self._record = get(format_name)
        self._written: list[Message] = []
        self._calls: dict[str, tuple[ToolCall, str, int]] = {}
        self._results: list[RenderedResult] = []

    def conversation(self, messages: Sequence[Message]) -> list[Message]:
        for message in messages:
            if message.role == "tool":
                self._result(message)
                continue
            self._flush_results()
            if message.calls:
                self._assistant(message)
            elif message.role in ("system", "developer"):
                self._written.append(message)
            else:
                self._append(message.role, self._safe(message.content), message)
        self._flush_results()
        return self._written

    def _assistant(self, message: Message) -> None:
        rendered = []
        for index, call in enumerate(message.calls):
            wire_id = provider_id(self._format, call.name, len(self._calls))
            self._calls[call.call_id] = (call, wire_id, index)
            rendered.append(RenderedCall(call.name, _arguments(call), wire_id))
        said = text_of(message.content)
        text = render_calls(self._format, rendered)
        self._written.append(Message("assistant", f"{said}\n{text}" if said.strip() else text))

    def _result(self, message: Message) -> None:
        call, wire_id, index = self._calls[message.call_id]
        content = text_of(message.content)
        self._results.append(RenderedResult(call.name, content, wire_id, index))

    def _flush_results(self) -> None:
        for turn in render_results(self._format, self._results):
            self._append("user", turn.text)
        self._results = []

    def _append(
        self, role: str, content: str | list[bytes] | None, source: Message | None = None
    ) -> None:
        """Two user messages in a row become one: most templates insist that roles alternate."""
        last = self._written[-1] if self._written else None
        if (
            role == "user"
            and last is not None
            and last.role == "user"
            and isinstance(last.content, str)
            and isinstance(content, str)
        ):
            self._written[-1] = Message("user", f"{last.content}\n\n{content}")
        elif source is not None:
            self._written.append(Message(source.role, content, name=source.name))
        else:
            self._written.append(Message("user", content))

    def _safe(self, content: str | list[bytes] | None) -> str | list[bytes] | None:
        if isinstance(content, str):
            return neutralize(self._record, content)
        return content and [self._safe_part(part) for part in content]

    def _safe_part(self, raw: bytes) -> bytes:
        part = msgspec.json.decode(raw)
        if not isinstance(part.get("text"), str):
            return raw
        return msgspec.json.encode({**part, "text": neutralize(self._record, part["text"])})


def _arguments(call: ToolCall) -> dict[str, object]:
    """The history was checked: the arguments are an object, or nothing."""
    if not call.arguments.strip():
        return {}
    return msgspec.json.decode(call.arguments, type=dict[str, object])


def text_of(content: str | list[bytes] | None) -> str:
    """The text of a content; what is not text is named."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = [msgspec.json.decode(raw) for raw in content]
    return "".join(
        part["text"] if isinstance(part.get("text"), str) else f"[{part.get('type')}]"
        for part in parts
    )
