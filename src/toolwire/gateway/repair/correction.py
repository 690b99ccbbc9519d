"""What the model is told about calls that cannot be made: a part of the conversation that only
its backend sees."""

from collections.abc import Sequence

import msgspec

from toolwire.gateway.repair.arguments import is_object
from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.requests import Message
from toolwire.protocol.tools import ToolCall

_NOT_MADE = "Error: this call was not made. {why} Correct it, and call the tool again."
_NOT_ALONE = "Error: this call was not made, because another call beside it was wrong. Repeat it."
_MOST_QUOTED = 2000
_WHY = {
    "unknown_tool_call": "Reason: {message}",
    "malformed_tool_arguments": "Its arguments are {message}",
    "unchecked_tool_arguments": "Reason: {message}",
    "invalid_tool_arguments": "Its arguments do not fit the schema of '{tool}': {message}",
}


def correction(said: str, calls: Sequence[ToolCall], findings: Sequence[Finding]) -> list[Message]:
    """The turn the model made, and what is wrong with it.

    As calls and results where a history can hold them; servers and templates decode the arguments
    of a history, so where these are not JSON, the same is said in words.
    """
    wrong = {finding.index: explain(finding) for finding in findings}
    if all(is_object(call.arguments) for call in calls):
        results = [
            Message("tool", wrong.get(index, _NOT_ALONE), call_id=call.call_id)
            for index, call in enumerate(calls)
        ]
        return [Message("assistant", said or None, calls=tuple(calls)), *results]
    answer = [Message("assistant", said)] if said.strip() else []
    quoted = [
        f"You called the tool '{call.name}' with {call.arguments[:_MOST_QUOTED]}\n"
        f"{wrong.get(index, _NOT_ALONE)}"
        for index, call in enumerate(calls)
    ]
    return [*answer, Message("user", "\n\n".join(quoted))]


def explain(finding: Finding) -> str:
    """A finding in words for the model."""
    why = _WHY[finding.code].format(message=finding.message, tool=finding.tool)
    return _NOT_MADE.format(why=why)


def schema_hint(parameters: object) -> str:
    """A schema, in as much of it as can be shown."""
    text = msgspec.json.encode(parameters).decode()
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}..."
