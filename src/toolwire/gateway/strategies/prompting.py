"""Writes tools into the conversation, in the model's format, for a server without tool support.

The tools follow the client's own system prompt. Earlier calls and results are written in the
format's syntax. Untrusted text (system prompts, users, results, names, tool descriptions) cannot
open a call, close a result or start a turn: the format's markers are escaped in it. In a format
without markers, text that a model could repeat as a call is escaped. A conversation without tools
is not changed.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec import structs

from toolwire.formats import (
    Format,
    RenderedCall,
    RenderedResult,
    get,
    provider_id,
    render_calls,
    render_results,
    render_tools,
)
from toolwire.formats.arguments import values
from toolwire.formats.rendering.escape_calls import (
    is_bare,
    unspell,
    unspell_objects,
    unspell_strings,
)
from toolwire.formats.rendering.escape_markers import neutralize
from toolwire.gateway.strategies.examples import examples_for
from toolwire.protocol.content import Content, Part, TextPart, text_of
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall, ToolChoice, ToolSet

_ONE_CALL = "Make at most one call."
_RESPONSE_SCHEMA = "If you call no tool, answer with nothing but JSON that fits this JSON Schema: "
_RAW = "input"
_BARE_RESULT = "{result}"


def demand_of(choice: ToolChoice) -> str:
    """Return the instruction that tells the model what tool_choice requires."""
    if choice.named and choice.allowed:
        return f"You must call the tool {next(iter(choice.allowed))} now, and no other."
    return "You must call at least one of the tools now."


def prompted(
    messages: Sequence[ChatMessage],
    tools: ToolSet,
    choice: ToolChoice,
    *,
    parallel: bool,
    format_name: str | Format,
    examples: int = 0,
    response_schema: Mapping[str, Any] | None = None,
) -> list[ChatMessage]:
    """Return the conversation for a chat server without tool support.

    `examples`: how many example calls to prepend, if there are tools to call.
    `response_schema`: the JSON Schema of an answer without calls.
    """
    offered = bool(tools.tools) and choice.mode != "none"
    if not offered and not has_calls(messages):
        return list(messages)
    if offered and examples:
        messages = _after_system(messages, examples_for(tools.tools, examples))
    written = _Writer(format_name, tools.tools if offered else ()).conversation(messages)
    if not offered:
        return written
    lines = [render_tools(format_name, list(tools.tools.values()))]
    if choice.mode == "required":
        lines.append(demand_of(choice))
    elif response_schema is not None:
        record = get(format_name)
        lines.append(_RESPONSE_SCHEMA + _safe_json(record, response_schema, tools.tools))
    if not parallel:
        lines.append(_ONE_CALL)
    return _with_system(written, "\n\n".join(lines))


def has_system(messages: Sequence[ChatMessage]) -> bool:
    """Whether there is a system prompt in the conversation."""
    return any(_is_system(message) for message in messages)


def has_calls(messages: Sequence[ChatMessage]) -> bool:
    """Whether there are calls in the conversation."""
    return any(message.calls for message in messages)


def without_system(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the conversation for a model without a system role: system prompts move to the start
    of the first user message."""
    texts = [message.content for message in messages if _is_system(message)]
    rest = [message for message in messages if not _is_system(message)]
    if not texts:
        return rest
    if rest and rest[0].role == "user":
        first = structs.replace(rest[0], content=_joined([*texts, rest[0].content]))
        return [first, *rest[1:]]
    return [ChatMessage("user", _joined(texts)), *rest]


def _safe_json(record: Format, response_schema: Mapping[str, Any], tools: Collection[str]) -> str:
    shown = unspell_objects(response_schema, tools) if is_bare(record) else response_schema
    return unspell_strings(record, neutralize(record, values.to_json(shown)), tools)


def _after_system(
    messages: Sequence[ChatMessage], more: Sequence[ChatMessage]
) -> list[ChatMessage]:
    said = next((n for n, m in enumerate(messages) if not _is_system(m)), len(messages))
    return [*messages[:said], *more, *messages[said:]]


def _with_system(messages: list[ChatMessage], text: str) -> list[ChatMessage]:
    first = messages[0] if messages else None
    if first is None or not _is_system(first):
        return [ChatMessage("system", text), *messages]
    return [structs.replace(first, content=_joined([first.content, text])), *messages[1:]]


def _is_system(message: ChatMessage) -> bool:
    return message.role in ("system", "developer")


class _Writer:
    """Writes one conversation. Some formats require calls to be numbered throughout."""

    def __init__(self, format_name: str | Format, tools: Collection[str]) -> None:
        self._format = format_name
        self._record = get(format_name)
        self._tools = tools
        self._written: list[ChatMessage] = []
        self._user: list[ChatMessage] = []
        self._calls: dict[str, tuple[AssistantCall, str, int]] = {}
        self._count = 0
        self._results: list[RenderedResult] = []

    def conversation(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        for message in messages:
            if message.role == "tool":
                self._result(message)
                continue
            self._flush_results()
            if message.calls:
                self._append(self._assistant(message))
            elif message.role == "user":
                self._append(self._plain(message))
            else:
                self._append(self._bare(self._plain(message)))
        self._flush_results()
        self._flush_user()
        return self._written

    def _plain(self, message: ChatMessage) -> ChatMessage:
        return structs.replace(
            message,
            content=self._safe(message.content),
            name=message.name and neutralize(self._record, message.name),
            reasoning=self._safe_text(message.reasoning),
        )

    def _assistant(self, message: ChatMessage) -> ChatMessage:
        rendered = []
        for index, call in enumerate(message.calls):
            wire_id = provider_id(self._format, call.name, self._count)
            self._count += 1
            self._calls[call.call_id] = (call, wire_id, index)
            rendered.append(RenderedCall(call.name, _arguments(call), wire_id))
        said = self._safe_text(text_of(message.content)) or ""
        text = render_calls(self._format, rendered, guarded=True)
        content = f"{said}\n{text}" if said.strip() else text
        reasoning = self._safe_text(message.reasoning)
        # The text is already escaped, and the calls are intentional.
        return ChatMessage("assistant", content, reasoning=reasoning)

    def _result(self, message: ChatMessage) -> None:
        call, wire_id, index = self._calls[message.call_id]
        content = text_of(message.content)
        self._results.append(
            RenderedResult(call.name, content, wire_id, index, is_error=message.is_error)
        )

    def _flush_results(self) -> None:
        """Write results as a user message: no server has all the roles that formats use."""
        if not self._results:
            return
        for turn in render_results(self._format, self._results):
            framed = self._record.results.result != _BARE_RESULT or self._record.results.before
            text = turn.text if framed else f"<tool_response>\n{turn.text}\n</tool_response>"
            self._append(ChatMessage("user", text))
        self._results = []

    def _append(self, message: ChatMessage) -> None:
        if message.role == "user":
            self._user.append(message)
        else:
            self._flush_user()
            self._written.append(message)

    def _flush_user(self) -> None:
        """Join consecutive user messages: most templates require roles to alternate."""
        if self._user:
            content = _joined([message.content for message in self._user])
            self._written.append(self._bare(structs.replace(self._user[0], content=content)))
            self._user = []

    def _bare(self, message: ChatMessage) -> ChatMessage:
        """Escape the joined message, so that its parts do not form a call together."""
        content = message.content
        if not content or not is_bare(self._record):
            return message
        if isinstance(content, str):
            (content,) = unspell(self._record, [content], self._tools)
            return structs.replace(message, content=content)
        texts = [part.text for part in content if isinstance(part, TextPart)]
        safe = iter(unspell(self._record, texts, self._tools))
        parts = [TextPart(next(safe)) if isinstance(part, TextPart) else part for part in content]
        return structs.replace(message, content=tuple(parts))

    def _safe_text(self, text: str | None) -> str | None:
        """Escape the text of an assistant message."""
        if not text:
            return text
        return unspell(self._record, [neutralize(self._record, text)], self._tools)[0]

    def _safe(self, content: Content) -> Content:
        if isinstance(content, str):
            return neutralize(self._record, content)
        return content and self._safe_parts(content)

    def _safe_parts(self, parts: tuple[Part, ...]) -> Content:
        """Join consecutive texts: the server could join two halves of a marker."""
        safe: list[Part] = []
        for is_text, run in groupby(parts, key=lambda part: isinstance(part, TextPart)):
            if is_text:
                joined = "\n".join(text_of((part,)) for part in run)
                safe.append(TextPart(neutralize(self._record, joined)))
            else:
                safe += run
        if len(safe) == 1 and isinstance(safe[0], TextPart):
            return safe[0].text
        return tuple(safe)


def _joined(contents: Sequence[Content]) -> Content:
    """Join several contents, with a blank line between them."""
    said = [content for content in contents if content]
    texts = [content for content in said if isinstance(content, str)]
    if len(texts) == len(said):
        return "\n\n".join(texts)
    parts: list[Part] = []
    for content in said:
        own = (TextPart(content),) if isinstance(content, str) else content
        parts += [TextPart("\n\n"), *own] if parts else own
    return tuple(parts)


def _arguments(call: AssistantCall) -> dict[str, object]:
    """Return the arguments as an object. Others, such as a custom tool's, stay text."""
    if not call.arguments.strip():
        return {}
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {_RAW: call.arguments}
