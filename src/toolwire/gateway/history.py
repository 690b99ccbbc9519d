"""The rules between messages: every call answered, every answer called for.

By default a broken history is refused; with `repair` it is repaired, and what was done is named.
Either way results come out in call order, which keeps prompt caches warm and which some models
insist on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from toolwire.errors import HistoryError, Place
from toolwire.protocol.chat import Message, ToolCall
from toolwire.protocol.ids import MAX_CLIENT_ID
from toolwire.protocol.nesting import TOO_DEEP, is_deep_text

NO_RESULT = "(no result: this call was never answered)"
_SHOWN = 100
"""So many ids, or characters of one, are repeated in a message."""


class _Object(msgspec.Struct):
    """Any JSON object. Nothing of it is kept."""


_json = msgspec.json.Decoder(_Object)


@dataclass(slots=True)
class History:
    """A conversation that keeps the rules, and what had to be done for that."""

    messages: list[Message] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    @property
    def calls(self) -> list[ToolCall]:
        """Every call of the conversation, in order."""
        return [call for message in self.messages for call in message.calls]


def check_history(messages: Sequence[Message], *, repair: bool = False) -> History:
    """Check the rules; refuse what breaks them, or mend it."""
    for message in messages:
        if message.calls or message.role == "tool":
            return _Checker(repair=repair).run(messages)
    return History(list(messages))


@dataclass(slots=True)
class _Checker:
    repair: bool
    history: History = field(default_factory=History)
    seen: set[str] = field(default_factory=set)
    open: dict[str, Message | None] = field(default_factory=dict)
    """The calls of the last assistant message, and their results so far."""

    def run(self, messages: Sequence[Message]) -> History:
        for position, message in enumerate(messages):
            if message.role == "tool":
                self._result(message, position)
                continue
            if self.open:
                self._close(position)
            if message.calls:
                message = self._calls(message, position)  # noqa: PLW2901
            self.history.messages.append(message)
        if self.open:
            self._close(len(messages))
        return self.history

    def _result(self, message: Message, position: int) -> None:
        if self.open.get(message.call_id, message) is not None:
            # Not a call of the last assistant message, or one that has its result already.
            if not self.repair:
                raise self._misplaced(message, position)
            self.history.repairs.append(f"orphan_result:messages[{position}]")
            return
        self.open[message.call_id] = message

    def _misplaced(self, message: Message, position: int) -> HistoryError:
        call_id = message.call_id[:_SHOWN]
        if message.call_id in self.seen:
            return HistoryError(
                "answered_twice",
                f"The result of '{call_id}' is there twice, or belongs to an earlier turn.",
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
        """The turn of results is over: all must be there, and they go out in call order."""
        if not self.repair and (unanswered := self._unanswered()):
            raise _not_answered(unanswered, position)
        for call_id, result in self.open.items():
            if result is None:
                self.history.repairs.append(f"missing_result:{call_id}")
            self.history.messages.append(result or Message("tool", NO_RESULT, call_id=call_id))
        self.open = {}

    def _calls(self, message: Message, position: int) -> Message:
        calls = []
        for at, call in enumerate(message.calls):
            if len(call.call_id) > MAX_CLIENT_ID:
                raise _long_id(call.call_id, Place("id", message=position, call=at))
            if call.call_id in self.seen:
                if not self.repair:
                    raise _repeated(call, Place("id", message=position, call=at))
                where = f"messages[{position}].tool_calls[{at}]"
                self.history.repairs.append(f"repeated_call_id:{where}")
                continue
            self.seen.add(call.call_id)
            self.open[call.call_id] = None
            if call.kind == "function":
                _check_arguments(call, Place("arguments", message=position, call=at))
            calls.append(call)
        if len(calls) == len(message.calls):
            return message
        return msgspec.structs.replace(message, calls=tuple(calls))


def _not_answered(call_ids: list[str], position: int, result_id: str = "") -> HistoryError:
    more = f" and {len(call_ids) - _SHOWN} more" if len(call_ids) > _SHOWN else ""
    return HistoryError(
        "unanswered_calls",
        f"These calls have no results: {', '.join(call_ids[:_SHOWN])}{more}.",
        Place("role", message=position),
        tuple(call_ids),
        result_id=result_id,
    )


def _repeated(call: ToolCall, place: Place) -> HistoryError:
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


def _check_arguments(call: ToolCall, place: Place) -> None:
    """Arguments in the history are JSON. Empty means none; a backend is sent `{}`."""
    try:
        _json.decode(call.arguments)
        if is_deep_text(call.arguments):
            raise _bad_arguments(call, place, TOO_DEEP)
    except RecursionError:
        raise _bad_arguments(call, place, TOO_DEEP) from None
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        if call.arguments.strip():
            raise _bad_arguments(call, place, str(error)) from None


def _bad_arguments(call: ToolCall, place: Place, why: str) -> HistoryError:
    return HistoryError(
        "malformed_arguments",
        f"the arguments of '{call.name}' are not a JSON object ({why}). "
        "Send the JSON text that came with the call.",
        place,
        (call.call_id,),
        code="malformed_tool_arguments",
    )
