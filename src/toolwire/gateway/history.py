"""The rules between messages (000 section 1): every call answered, every answer called for.

By default a broken history is refused in OpenAI's words; with `repair` it is mended, and what was
done is named. Either way results come out in call order, which keeps prompt caches warm and which
some models insist on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from toolwire.errors import RequestError
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

    def _misplaced(self, message: Message, position: int) -> RequestError:
        call_id = message.call_id[:_SHOWN]
        if message.call_id in self.seen:
            return RequestError(
                f"Invalid parameter: 'tool_call_id' '{call_id}' in 'messages[{position}]' is "
                "answered twice, or belongs to an earlier turn. Send one tool message per call, "
                "right after the assistant message that made it.",
                param=f"messages.[{position}].tool_call_id",
            )
        if unanswered := self._unanswered():
            hint = f". 'messages[{position}].tool_call_id' is '{call_id}', which is none of them."
            return _not_answered(unanswered, position, hint)
        return RequestError(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'.",
            param=f"messages.[{position}].role",
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
            where = f"messages[{position}].tool_calls[{at}]"
            if len(call.call_id) > MAX_CLIENT_ID:
                raise _long_id(call.call_id, f"{where}.id")
            if call.call_id in self.seen:
                if not self.repair:
                    raise _repeated(call, where)
                self.history.repairs.append(f"repeated_call_id:{where}")
                continue
            self.seen.add(call.call_id)
            self.open[call.call_id] = None
            if call.kind == "function":
                _check_arguments(call, where)
            calls.append(call)
        if len(calls) == len(message.calls):
            return message
        return msgspec.structs.replace(message, calls=tuple(calls))


def _not_answered(call_ids: list[str], position: int, hint: str = "") -> RequestError:
    more = f" and {len(call_ids) - _SHOWN} more" if len(call_ids) > _SHOWN else ""
    return RequestError(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(call_ids[:_SHOWN])}{more}{hint}",
        param=f"messages.[{position}].role",
    )


def _repeated(call: ToolCall, where: str) -> RequestError:
    return RequestError(
        f"Invalid '{where}.id': the id '{call.call_id}' is used twice in this conversation. "
        "Every tool call needs an id of its own.",
        param=f"{where}.id",
        code="invalid_value",
    )


def _long_id(call_id: str, where: str) -> RequestError:
    return RequestError(
        f"Invalid '{where}': string too long. Expected a string with maximum length "
        f"{MAX_CLIENT_ID}, but got a string with length {len(call_id)} instead.",
        param=where,
        code="string_above_max_length",
    )


def _check_arguments(call: ToolCall, where: str) -> None:
    """000: arguments in the history are JSON. Empty means none; a backend is sent `{}`."""
    try:
        _json.decode(call.arguments)
        if is_deep_text(call.arguments):
            raise _bad_arguments(call, where, TOO_DEEP)
    except RecursionError:
        raise _bad_arguments(call, where, TOO_DEEP) from None
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        if call.arguments.strip():
            raise _bad_arguments(call, where, str(error)) from None


def _bad_arguments(call: ToolCall, where: str, why: str) -> RequestError:
    where = f"{where}.function.arguments"
    return RequestError(
        f"Invalid '{where}': the arguments of '{call.name}' are not a JSON object ({why}). "
        "Send the JSON text that came with the call.",
        param=where,
        code="malformed_tool_arguments",
    )
