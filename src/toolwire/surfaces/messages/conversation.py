"""Converts `system` and `messages` to normalized messages.

A user turn may span several messages, with results, text and system messages in any order. A
backend gets all results first, then one user message with the rest. System messages before the
first answer join the system prompt. Later ones become text of the user's turn: many chat templates
allow only one system message, at the beginning, and moving a later one there would change the start
of the prompt every turn. Earlier messages are always rendered the same way, so that prompt caches
keep working.
"""

from typing import Any, Literal

import msgspec

from toolwire.protocol.content import FilePart, ImagePart, Part, TextPart, error_text, not_shown
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tool_cache import safe_name
from toolwire.protocol.tools import AssistantCall
from toolwire.surfaces.messages.blocks import (
    Block,
    joined,
    listed,
    parts_of,
    parts_of_block,
    text_of_blocks,
)
from toolwire.surfaces.messages.notes import Notes, invalid
from toolwire.surfaces.messages.thinking import is_changed

NO_OUTPUT = "(no output)"
_BELOW: dict[type, str] = {
    ImagePart: "(an image, shown below)",
    FilePart: "(a document, shown below)",
}
_encode = msgspec.json.Encoder().encode


class WireMessage(msgspec.Struct):
    """A message on the wire."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Any] | None = None
    clear_at: str | None = None
    output_config: dict[str, Any] | None = None


class ConversationBuilder(msgspec.Struct):
    """Builds a conversation, message by message."""

    notes: Notes
    messages: list[ChatMessage] = msgspec.field(default_factory=list)
    origins: list[int] = msgspec.field(default_factory=list)
    """The index of the client's message for each message."""
    shown: dict[str, None] = msgspec.field(default_factory=dict)
    """Deferred tools that were loaded, in order."""
    removed: set[str] = msgspec.field(default_factory=set)
    defined: list[Block] = msgspec.field(default_factory=list)
    """Tools that were defined in the conversation."""
    _system: list[str] = msgspec.field(default_factory=list)
    _answered: bool = False
    _open: dict[str, str] = msgspec.field(default_factory=dict)
    """Calls without a result yet: id and name."""
    _results: dict[str, ChatMessage] = msgspec.field(default_factory=dict)
    _images: dict[str, list[Part]] = msgspec.field(default_factory=dict)
    _said: list[Part] = msgspec.field(default_factory=list)
    _waiting: int | None = None
    """Where the current user turn began, if any."""

    def read(self, system: object, wire: list[WireMessage]) -> tuple[ChatMessage, ...]:
        """Read the whole conversation."""
        if system is not None:
            self._system.append(text_of_blocks(system, "system", self.notes))
        for at, message in enumerate(wire):
            if message.role == "assistant":
                self._flush()
                self._assistant(message, at)
            elif message.role == "system":
                self._late_system(message, at)
            else:
                self._user(message, at)
        self._flush()
        prompt = "\n\n".join(filter(None, self._system))
        if prompt:
            self.messages.insert(0, ChatMessage("system", prompt))
            self.origins.insert(0, 0)
        return tuple(self.messages)

    def _late_system(self, message: WireMessage, at: int) -> None:
        where = f"messages.{at}.content"
        if message.clear_at not in (None, "never"):
            self.notes.ignore(f"messages.{at}.clear_at")
        if message.output_config:
            self.notes.ignore(f"messages.{at}.output_config")
        content = message.content or ""
        if not isinstance(content, str):
            content = [block for block in listed(content, where) if not self._changes_tools(block)]
        text = text_of_blocks(content, where, self.notes)
        if not text:
            return
        if not self._answered:
            self._system.append(text)
            return
        self._begin(at)
        self._said.append(TextPart(f"<system-reminder>\n{text}\n</system-reminder>"))

    def _changes_tools(self, block: Block) -> bool:
        """Apply a `tool_addition` or a `tool_removal`."""
        kind, tool = block.get("type"), block.get("tool")
        if kind not in ("tool_addition", "tool_removal") or not isinstance(tool, dict):
            return False
        definition = tool.get("definition")
        if kind == "tool_addition" and isinstance(definition, dict):
            self.defined.append(definition)
            return True
        name = tool.get("tool_name") or tool.get("name")
        if not isinstance(name, str):
            self.notes.ignore(str(kind))
        elif kind == "tool_addition":
            self.shown[name] = None
            self.removed.discard(name)
        else:
            self.removed.add(name)
        return True

    def _user(self, message: WireMessage, at: int) -> None:
        self._begin(at)
        where = f"messages.{at}.content"
        if message.content is None or isinstance(message.content, str):
            self._said += parts_of(message.content, where, self.notes)
            return
        for number, block in enumerate(listed(message.content, where)):
            place = f"{where}.{number}"
            if block.get("type") == "tool_result":
                self._result(block, place)
            else:
                self._said += parts_of_block(block, place, self.notes)

    def _begin(self, at: int) -> None:
        if self._waiting is None:
            self._waiting = at

    def _result(self, block: Block, where: str) -> None:
        call_id = block.get("tool_use_id")
        if not isinstance(call_id, str) or not call_id:
            raise invalid(f"{where}.tool_use_id", "Field required")
        text, images = self._output(block, f"{where}.content")
        failed = bool(block.get("is_error"))
        if call_id not in self._open or call_id in self._results:
            self.notes.repair(f"orphan_result:{call_id}")
            self._said += [
                TextPart(f"(result of an earlier call: {error_text(text) if failed else text})"),
                *images,
            ]
            return
        self._results[call_id] = ChatMessage("tool", text, call_id=call_id, is_error=failed)
        if images:
            what = "document" if isinstance(images[0], FilePart) else "image"
            label = TextPart(f"({what} of the result of {self._open[call_id]}:)")
            self._images[call_id] = [label, *images]

    def _output(self, block: Block, where: str) -> tuple[str, list[Part]]:
        """Return the text of a result, and its images."""
        content = block.get("content")
        if content is None or isinstance(content, str):
            return content or NO_OUTPUT, []
        blocks = listed(content, where)
        parts = parts_of([b for b in blocks if not _is_reference(b)], where, self.notes)
        images: list[Part] = [part for part in parts if isinstance(part, ImagePart | FilePart)]
        texts = [part.text for part in parts if isinstance(part, TextPart)]
        if names := [str(b["tool_name"]) for b in blocks if _is_reference(b)]:
            self.shown.update(dict.fromkeys(names))
            self.removed.difference_update(names)
            texts.append(f"Now available: {', '.join(names)}.")
        texts += [_BELOW[kind] for kind in dict.fromkeys(map(type, images))]
        return "\n\n".join(texts) or NO_OUTPUT, images

    def _assistant(self, message: WireMessage, at: int) -> None:
        where, content = f"messages.{at}.content", message.content or ""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said: list[Part] = []
        thought: list[str] = []
        calls: list[AssistantCall] = []
        for number, block in enumerate(listed(blocks, where)):
            place = f"{where}.{number}"
            if block.get("type") == "tool_use":
                calls.append(_call(block, place))
            elif block.get("type") == "thinking":
                thought += self._thought(block, place)
            else:
                parts = parts_of_block(block, place, self.notes)
                said += [TextPart(not_shown(p)) if isinstance(p, FilePart) else p for p in parts]
        texts = joined(said)
        made = ChatMessage(
            "assistant", texts or None, tuple(calls), reasoning="\n".join(thought) or None
        )
        self._append_answer(made, at)
        self._open |= {call.call_id: call.name for call in calls}
        self._answered = True

    def _append_answer(self, made: ChatMessage, at: int) -> None:
        """Append an answer. Consecutive answers are merged, because roles must alternate."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.role != "assistant":
            self.messages.append(made)
            self.origins.append(at)
            return
        said = [part for one in (last, made) for part in _parts(one)]
        thought = "\n".join(filter(None, (last.reasoning, made.reasoning)))
        calls = (*last.calls, *made.calls)
        content = joined(said) or None
        self.messages[-1] = ChatMessage("assistant", content, calls, reasoning=thought or None)

    def _thought(self, block: Block, where: str) -> list[str]:
        text = block.get("thinking")
        if not isinstance(text, str) or not text:
            return []
        if is_changed(text, block.get("signature")):
            self.notes.repair(f"changed_thinking:{where}")
            return []
        return [text]

    def _flush(self) -> None:
        """End the user's turn: add the results in the order of the calls, then the rest."""
        at = self._waiting
        if at is None:
            return
        for call_id in self._open:
            if (result := self._results.get(call_id)) is not None:
                self._append(result, at)
        images = [part for c in self._open for part in self._images.get(c, ())]
        said = [*images, *self._said]
        if said or not self._results:
            self._append(ChatMessage("user", joined(said)), at)
        self._open, self._results, self._images = {}, {}, {}
        self._said, self._waiting = [], None

    def _append(self, message: ChatMessage, at: int) -> None:
        self.messages.append(message)
        self.origins.append(at)


def _parts(message: ChatMessage) -> list[Part]:
    content = message.content
    if isinstance(content, tuple):
        return list(content)
    return [TextPart(content)] if content else []


def _is_reference(block: Block) -> bool:
    return block.get("type") == "tool_reference" and isinstance(block.get("tool_name"), str)


def _call(block: Block, where: str) -> AssistantCall:
    call_id, name, given = block.get("id"), block.get("name"), block.get("input")
    if not isinstance(call_id, str) or not call_id:
        raise invalid(f"{where}.id", "Field required")
    if not isinstance(name, str) or not name:
        raise invalid(f"{where}.name", "Field required")
    # Some clients return the raw text of arguments that they could not decode.
    arguments = given if isinstance(given, str) else _encode(given or {}).decode()
    return AssistantCall(call_id, safe_name(name), arguments)
