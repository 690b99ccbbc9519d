"""Converts input items to messages.

Items are flat, messages are not: consecutive text and calls of the assistant form one message.
Results are moved after the calls they belong to, wherever they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from toolwire.errors import RequestError
from toolwire.protocol.content import Content, text_of
from toolwire.protocol.ids import MAX_CLIENT_ID
from toolwire.protocol.requests import ChatMessage, Role
from toolwire.protocol.tools import AssistantCall
from toolwire.surfaces.explain import bad_value, json_kind, missing, wrong_type
from toolwire.surfaces.responses.kinds import BY_ITEM, KINDS, WireTool
from toolwire.surfaces.responses.reasoning import Unsealer, is_ours
from toolwire.surfaces.responses.request.messages import InputMessage, InputTurn, MessageWriter
from toolwire.surfaces.responses.request.parts import joined, read_content
from toolwire.surfaces.responses.request.tools import OfferedTools

Item: TypeAlias = Mapping[str, Any]

_ROLES: dict[str, Role] = {
    "user": "user",
    "system": "system",
    "developer": "developer",
    "assistant": "assistant",
}
_encode = msgspec.json.Encoder().encode


def is_reference(item: Item) -> bool:
    """Whether an item is only a reference to a stored one."""
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and "role" not in item and "id" in item)


def reference_id(at: int, item: Item) -> str:
    """Return the id that a reference names. Raises `RequestError`."""
    return _string(item, "id", at)


class ReadInput(msgspec.Struct):
    """The messages, the index of the item each came from, and the notes to report."""

    messages: list[ChatMessage] = []
    positions: list[int] = []
    ignored: list[str] = []
    repairs: list[str] = []
    sealed: list[str] = []
    """Places of reasoning that only a backend of this API can read."""


def read_items(items: Sequence[Item], tools: OfferedTools, instructions: str | None) -> ReadInput:
    """Convert the conversation. Raises `RequestError` with the item."""
    out = ReadInput()
    reader = _Reader(tools, out)
    if instructions:
        reader.system.append(instructions)
    for at, item in enumerate(items):
        reader.take(at, item)
    MessageWriter(out.messages, out.positions).write(reader.system, reader.entries)
    return out


class _Reader(msgspec.Struct):
    """Converts items to turns and the messages between them."""

    tools: OfferedTools
    out: ReadInput
    system: list[str] = []
    """The texts before the first turn that form the system message."""
    entries: list[InputTurn | InputMessage] = []
    open: bool = False
    """Whether the assistant's next item belongs to the last turn."""
    owners: dict[str, list[InputTurn]] = {}
    answered: bool = False
    """Whether there is a turn."""
    unsealer: Unsealer = msgspec.field(default_factory=Unsealer)

    def take(self, at: int, item: Item) -> None:
        kind = item.get("type")
        kind = "message" if kind is None and "role" in item else kind
        if not isinstance(kind, str):
            raise missing(f"input[{at}].type")
        rule = ITEMS.get(kind)
        if rule is None:
            self.out.ignored.append(f"input[{at}]:{kind}")
        elif rule.take is not None:
            rule.take(self, at, item)

    def message(self, at: int, item: Item) -> None:
        role = item.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise bad_value(str(role), f"input[{at}].role", _WORDS)
        content = item.get("content")
        if not isinstance(content, str):
            content = read_content(content, f"input[{at}].content", self.out.ignored)
        if content is None:
            raise missing(f"input[{at}].content")
        if role == "assistant":
            turn = self._turn(at)
            turn.content = joined(turn.content, content)
            return
        self._say(at, _ROLES[role], content)

    def agent_message(self, at: int, item: Item) -> None:
        """Read a message from one agent to another."""
        content = read_content(item.get("content"), f"input[{at}].content", self.out.ignored)
        head = f"Message from {item.get('author')} to {item.get('recipient')}:"
        self._say(at, "user", joined(head, content))

    def reasoning(self, at: int, item: Item) -> None:
        sealed = item.get("encrypted_content")
        sealed = sealed if isinstance(sealed, str) else ""
        text = self.unsealer.open(sealed)
        if text is None:
            text = self._reasoning(at, item)
            self._sealed(at, sealed, unread=not text)
        if text:
            self._turn(at).reasoning.append(text)

    def _sealed(self, at: int, sealed: str, *, unread: bool) -> None:
        """Keep another provider's envelope, which only a backend of this API can open."""
        where = f"input[{at}].encrypted_content"
        if sealed and unread:
            self.out.ignored.append(where)
        if sealed and not is_ours(sealed):
            self._turn(at).encrypted.append(sealed)
            if unread:
                self.out.sealed.append(where)

    def _reasoning(self, at: int, item: Item) -> str:
        for name in ("content", "summary"):
            said = item.get(name)
            if said:
                content = read_content(said, f"input[{at}].{name}", self.out.ignored)
                if text := text_of(content):
                    return text
        return ""

    def call(self, at: int, item: Item) -> None:
        """Read a call of the assistant."""
        tool_kind = BY_ITEM[item["type"]]
        known = KINDS[tool_kind]
        name, namespace = known.name, ""
        if known.named:
            name = _string(item, "name", at)
            space = item.get("namespace")
            namespace = space if isinstance(space, str) else ""
        arguments = known.read(item)
        if arguments is None:
            raise missing(f"input[{at}].{known.needs}")
        call_id = _string(item, "call_id" if item.get("call_id") else "id", at)
        if len(call_id) > MAX_CLIENT_ID:
            raise _long_id(call_id, at)
        offered = self.tools.offered_name(WireTool(tool_kind, name, namespace))
        turn = self._turn(at)
        turn.calls.append(AssistantCall(call_id, offered, arguments))
        turn.places[call_id] = at
        self.owners.setdefault(call_id, []).append(turn)
        if isinstance(own := item.get("id"), str) and tool_kind == "local_shell":
            self.owners.setdefault(own, []).append(turn)  # outputs may refer to the item's id
            turn.places.setdefault(own, at)

    def output(self, at: int, item: Item) -> None:
        """Read the result of a call."""
        call_id = item.get("call_id")
        if not call_id and item["type"] == "local_shell_call_output":
            call_id = item.get("id")
        if call_id is None and (call_id := self._unanswered()) is not None:
            self.out.repairs.append(f"call_id_missing:input[{at}]")
        if not isinstance(call_id, str):
            raise missing(f"input[{at}].call_id")
        self._result(at, call_id, self._output(at, item))

    def tool_search_output(self, at: int, item: Item) -> None:
        """Read the result of a tool search. Its tools join those of the request."""
        found = item.get("tools")
        names = ", ".join(_names(found if isinstance(found, list) else []))
        call_id = item.get("call_id")
        if isinstance(call_id, str):
            self._result(at, call_id, f"Now available: {names}." if names else "Nothing found.")

    def _output(self, at: int, item: Item) -> Content:
        said = item.get("output")
        if isinstance(said, str):
            return said
        where = f"input[{at}].output"
        if item.get("type") == "shell_call_output" and isinstance(said, list):
            return "\n".join(_shell_output(part) for part in said if isinstance(part, dict))
        if isinstance(said, dict):
            if said.get("type") == "computer_screenshot":
                return read_content([said], where, self.out.ignored)
            return _encode(said).decode()
        if said is None and "status" in item:
            return str(item["status"])
        return read_content(said, where, self.out.ignored)

    def _result(self, at: int, call_id: str, content: Content) -> None:
        turns = self.owners.get(call_id)
        self.open = False
        if not turns and isinstance(content, tuple):
            self._say(at, "user", content)  # a screenshot: the call that requested it is omitted
            return
        if not turns:
            self.out.repairs.append(f"orphan_result:{call_id}")
            return
        turn = next((one for one in turns if call_id not in one.results), turns[-1])
        if call_id in turn.results:
            self.out.repairs.append(f"result_repeated:{call_id}")
        elif turn is not self.entries[-1]:
            self.out.repairs.append(f"result_moved:{call_id}")
        turn.results[call_id] = content

    def _unanswered(self) -> str | None:
        """Return the only call of the last turn without a result."""
        last = self.entries[-1] if self.entries else None
        if not isinstance(last, InputTurn):
            return None
        calls = [call.call_id for call in last.calls if call.call_id not in last.results]
        return calls[0] if len(calls) == 1 else None

    def _turn(self, at: int) -> InputTurn:
        last = self.entries[-1] if self.open and self.entries else None
        if isinstance(last, InputTurn):
            return last
        turn = InputTurn(at)
        self.entries.append(turn)
        self.open = self.answered = True
        return turn

    def _say(self, at: int, role: Role, content: Content) -> None:
        self.open = False
        if role == "user" or self.answered:
            self.entries.append(InputMessage(at, role, content))
        elif text := text_of(content, "\n"):
            self.system.append(text)


_WORDS = "'user', 'assistant', 'system', and 'developer'"


class ItemRule(msgspec.Struct, frozen=True):
    """How one type of item is handled."""

    take: Callable[[_Reader, int, Item], None] | None
    about: str


_RESULT = ItemRule(_Reader.output, "the result of its call, wherever it stands")
ITEMS: dict[str, ItemRule] = {
    "message": ItemRule(
        _Reader.message, "a message; text before the first answer joins the system message"
    ),
    "reasoning": ItemRule(
        _Reader.reasoning,
        "reasoning of the turn it belongs to: from `encrypted_content` if Toolwire wrote it, else "
        "from `content` or `summary`",
    ),
    **{
        KINDS[kind].item: ItemRule(_Reader.call, "a call, with others of the same turn")
        for kind in KINDS
    },
    "function_call_output": _RESULT,
    "custom_tool_call_output": _RESULT,
    "local_shell_call_output": _RESULT,
    "shell_call_output": _RESULT,
    "apply_patch_call_output": _RESULT,
    "computer_call_output": _RESULT,
    "tool_search_output": ItemRule(
        _Reader.tool_search_output, "the result of its call; its tools are offered from then on"
    ),
    "additional_tools": ItemRule(None, "its tools join those of the request"),
    "agent_message": ItemRule(_Reader.agent_message, "a user message that names both agents"),
    "item_reference": ItemRule(None, "the stored item; unknown: 404"),
}
"""How items are handled. Any other type is omitted and reported."""


def _names(tools: Iterable[Any]) -> list[str]:
    """Return the names of the tools that were found, including those in namespaces."""
    names = []
    for tool in tools:
        if isinstance(tool, dict):
            inner = tool.get("tools")
            space = f"{tool.get('name')}__"
            names += [space + name for name in _names(inner)] if isinstance(inner, list) else []
            names += [] if isinstance(inner, list) else [str(tool.get("name"))]
    return names


def _shell_output(part: Mapping[str, Any]) -> str:
    outcome = part.get("outcome")
    code = outcome.get("exit_code") if isinstance(outcome, dict) else None
    end = f"[exit code {code}]" if code else "[timed out]" if code is None and outcome else ""
    return "\n".join(
        filter(None, (str(part.get("stdout") or ""), str(part.get("stderr") or ""), end))
    )


def _string(item: Item, name: str, at: int) -> str:
    value = item.get(name)
    if value is None or value == "":
        raise missing(f"input[{at}].{name}")
    if not isinstance(value, str):
        raise wrong_type(f"input[{at}].{name}", "str", json_kind(value))
    return value


def _long_id(call_id: str, at: int) -> RequestError:
    return RequestError(
        f"Invalid 'input[{at}].call_id': string too long. Expected a string with maximum length "
        f"{MAX_CLIENT_ID}, but got a string with length {len(call_id)} instead.",
        param=f"input[{at}].call_id",
        code="string_above_max_length",
    )
