"""Messages that tell the model what is wrong with its calls. Only the backend sees them."""

from collections.abc import Sequence

import msgspec

from toolwire.gateway.repair.arguments import is_object
from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall

_NOT_MADE = "Error: this call was not made. {why} Correct it, and call the tool again."
_NOT_ALONE = "Error: this call was not made, because another call beside it was wrong. Repeat it."
_MOST_QUOTED = 2000
_WHY = {
    "unknown_tool_call": "Reason: {message}",
    "malformed_tool_arguments": "Its arguments are {message}",
    "unchecked_tool_arguments": "Reason: {message}",
    "invalid_tool_arguments": "Its arguments do not fit the schema of '{tool}': {message}",
}


def correction(
    said: str, calls: Sequence[AssistantCall], findings: Sequence[Finding]
) -> list[ChatMessage]:
    """Return the model's turn, and what is wrong with it.

    The turn is written as calls and results if all arguments are JSON. Otherwise it is described in
    text, because servers and templates decode the arguments in a history.
    """
    wrong = {finding.index: explain(finding) for finding in findings}
    if all(is_object(call.arguments) for call in calls):
        results = [
            ChatMessage("tool", wrong.get(index, _NOT_ALONE), call_id=call.call_id)
            for index, call in enumerate(calls)
        ]
        return [ChatMessage("assistant", said or None, calls=tuple(calls)), *results]
    answer = [ChatMessage("assistant", said)] if said.strip() else []
    quoted = [
        f"You called the tool '{call.name}' with {call.arguments[:_MOST_QUOTED]}\n"
        f"{wrong.get(index, _NOT_ALONE)}"
        for index, call in enumerate(calls)
    ]
    return [*answer, ChatMessage("user", "\n\n".join(quoted))]


def explain(finding: Finding) -> str:
    """Describe a finding to the model."""
    why = _WHY[finding.code].format(message=finding.message, tool=finding.tool)
    return _NOT_MADE.format(why=why)


def schema_hint(parameters: object) -> str:
    """Return a schema as text, cut to a length that can be shown."""
    text = msgspec.json.encode(parameters).decode()
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}..."
