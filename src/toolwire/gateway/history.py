"""Checks the rules between messages: every call has a result, and every result has a call.

By default a broken history is refused. With `repair` it is repaired, and the repairs are reported.
Results are always sorted into call order, which keeps prompt caches warm and which some models
require. Arguments that are not JSON are never refused: a model wrote them, and the agent that
answered the call cannot change them. They are repaired or quoted, because servers and templates
decode them.
"""

import operator
from collections.abc import Sequence

import msgspec

from toolwire.errors import HistoryError, Place
from toolwire.gateway.repair.rules import EVERY_RULE
from toolwire.protocol.ids import MAX_CLIENT_ID
from toolwire.protocol.json_limits import is_deep_text
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall

NO_RESULT = "(no result: this call was never answered)"
QUOTED = "invalid_json"
"""The only field of the object that replaces arguments that are not JSON."""
_SHOWN = 100
"""The most ids, or characters of an id, that an error message quotes."""


class _Object(msgspec.Struct):
    """Any JSON object. Its members are not kept."""


_json = msgspec.json.Decoder(_Object)
_json_encode = msgspec.json.Encoder().encode


class History(msgspec.Struct):
    """A valid conversation, and the repairs that made it valid."""

    messages: list[ChatMessage] = []
    repairs: list[str] = []

    @property
    def calls(self) -> list[AssistantCall]:
        """Every call of the conversation, in order."""
        return [call for message in self.messages for call in message.calls]


def check_history(messages: Sequence[ChatMessage], *, repair: bool = False) -> History:
    """Check a conversation. Refuse one that breaks the rules, or repair it."""
    for first, message in enumerate(messages):
        if message.calls or message.role == "tool":
            return _Checker(repair, messages, History([*messages[:first]])).run(first)
    return History([*messages])


class _Checker(msgspec.Struct):
    repair: bool
    messages: Sequence[ChatMessage]
    history: History
    seen: set[str] = set()
    open: dict[str, ChatMessage | None] = {}
    """The calls of the last assistant message, and their results so far."""
    renamed: dict[str, list[str]] = {}
    """Ids that an earlier call already used, and their replacements."""
    names: "_FreshIds | None" = None
    moved: set[int] = set()
    """The positions of results that belong to earlier calls, and were moved there."""

    def run(self, first: int) -> History:
        """Check all messages from this one on: those before it make no calls."""
        add = self.history.messages.append
        for position, message in enumerate(self.messages[first:], first):
            if message.role == "tool":
                if position not in self.moved:
                    self._result(message, position)
                continue
            if self.open:
                self._close(position)
            if message.calls:
                message = self._calls(message, position)  # noqa: PLW2901
            add(message)
        if self.open:
            self._close(len(self.messages))
        return self.history

    def _result(self, message: ChatMessage, position: int) -> None:
        if self.renamed:
            message = self._readdressed(message)
        if self.open.get(message.call_id, message) is not None:
            # Not a call of the last assistant message, or a call that already has a result.
            if not self.repair:
                raise self._misplaced(message, position)
            self._repaired("orphan_result", message.call_id)
            return
        self.open[message.call_id] = message

    def _readdressed(self, message: ChatMessage) -> ChatMessage:
        """Return the result under the id of the first call that it can belong to."""
        for call_id in (message.call_id, *self.renamed.get(message.call_id, ())):
            if self.open.get(call_id, message) is None:
                return msgspec.structs.replace(message, call_id=call_id)
        return message

    def _misplaced(self, message: ChatMessage, position: int) -> HistoryError:
        call_id = message.call_id[:_SHOWN]
        if message.call_id in self.seen:
            return HistoryError(
                "answered_twice",
                f"The result of '{call_id}' was sent twice, or belongs to an earlier turn.",
                Place("call_id", message=position),
                (call_id,),
            )
        if unanswered := self._unanswered():
            return _not_answered(unanswered, position, call_id)
        return HistoryError(
            "orphan_result",
            f"The result of '{call_id}' follows no call.",
            Place("role", message=position),
            (call_id,),
        )

    def _unanswered(self) -> list[str]:
        return [call_id for call_id, result in self.open.items() if result is None]

    def _close(self, position: int) -> None:
        """End a run of results: all must be present, and they go out in call order."""
        later: dict[str, int] = {}
        if None in self.open.values():
            if not self.repair:
                raise _not_answered(self._unanswered(), position)
            later = self._later_results(position)
        for call_id, result in self.open.items():
            if result is None and call_id in later:
                self.moved.add(later[call_id])
                result = self.messages[later[call_id]]  # noqa: PLW2901
                self._repaired("result_moved", call_id)
            elif result is None:
                self._repaired("missing_result", call_id)
            self.history.messages.append(result or ChatMessage("tool", NO_RESULT, call_id=call_id))
        self.open = {}
        self.renamed = {}

    def _later_results(self, position: int) -> dict[str, int]:
        """Return where results stand that come later, up to the next message with calls."""
        found: dict[str, int] = {}
        for at in range(position, len(self.messages)):
            message = self.messages[at]
            if message.calls:
                break
            if message.role == "tool":
                found.setdefault(message.call_id, at)
        return found

    def _calls(self, message: ChatMessage, position: int) -> ChatMessage:
        calls = []
        for at, call in enumerate(message.calls):
            if len(call.call_id) > MAX_CLIENT_ID:
                raise _long_id(call.call_id, Place("id", message=position, call=at))
            if call.call_id in self.seen:
                if not self.repair:
                    raise _repeated(call, Place("id", message=position, call=at))
                self._repaired("repeated_call_id", call.call_id)
                call = self._renamed(call)  # noqa: PLW2901
            self.seen.add(call.call_id)
            self.open[call.call_id] = None
            if call.kind == "function" and not _is_json(call.arguments):
                call = self._readable(call)  # noqa: PLW2901
            calls.append(call)
        if all(map(operator.is_, calls, message.calls)):
            return message
        return msgspec.structs.replace(message, calls=tuple(calls))

    def _renamed(self, call: AssistantCall) -> AssistantCall:
        self.names = self.names or _FreshIds(self.messages)
        call_id = self.names.like(call.call_id)
        self.renamed.setdefault(call.call_id, []).append(call_id)
        return msgspec.structs.replace(call, call_id=call_id)

    def _readable(self, call: AssistantCall) -> AssistantCall:
        """Return the call with arguments that a backend can decode."""
        arguments = EVERY_RULE.as_json(call.arguments)
        if arguments is None:
            said = call.arguments.encode("utf-8", "replace").decode()
            arguments = _json_encode({QUOTED: said}).decode()
            self._repaired("arguments_quoted", call.call_id)
        else:
            self._repaired("arguments_repaired", call.call_id)
        return msgspec.structs.replace(call, arguments=arguments)

    def _repaired(self, what: str, call_id: str) -> None:
        self.history.repairs.append(f"{what}:{call_id[:_SHOWN]}")


class _FreshIds:
    """Generates ids that no call of the conversation has."""

    def __init__(self, messages: Sequence[ChatMessage]) -> None:
        self._taken = {call.call_id for message in messages for call in message.calls}
        self._numbers: dict[str, int] = {}

    def like(self, call_id: str) -> str:
        """Return a new id in the form of this one."""
        base = call_id[: MAX_CLIENT_ID - 16]
        number = self._numbers.get(base, 1)
        fresh = call_id
        while fresh in self._taken:
            number += 1
            fresh = f"{base}_{number}"
        self._numbers[base] = number
        self._taken.add(fresh)
        return fresh


def _not_answered(call_ids: list[str], position: int, result_id: str = "") -> HistoryError:
    more = f" and {len(call_ids) - _SHOWN} more" if len(call_ids) > _SHOWN else ""
    return HistoryError(
        "unanswered_calls",
        f"These calls have no results: {', '.join(call_ids[:_SHOWN])}{more}.",
        Place("role", message=position),
        tuple(call_ids),
        result_id=result_id,
    )


def _repeated(call: AssistantCall, place: Place) -> HistoryError:
    return HistoryError(
        "repeated_call_id",
        f"the id '{call.call_id}' is used twice in this conversation. "
        "Every tool call needs an id of its own.",
        place,
        (call.call_id,),
        code="invalid_value",
    )


def _long_id(call_id: str, place: Place) -> HistoryError:
    return HistoryError(
        "long_call_id",
        f"string too long. Expected a string with maximum length "
        f"{MAX_CLIENT_ID}, but got a string with length {len(call_id)} instead.",
        place,
        (call_id,),
        code="string_above_max_length",
    )


def _is_json(arguments: str) -> bool:
    """Whether arguments can go to a backend: an object, or nothing, which is sent as `{}`."""
    try:
        _json.decode(arguments)
        return not is_deep_text(arguments)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return not arguments.strip()
