"""Detects a model that repeats the same invalid call, and warns it."""

from collections.abc import Sequence

from toolwire.gateway.repair.arguments import check_call
from toolwire.gateway.repair.correction import schema_hint
from toolwire.gateway.repair.costly import Allowance, TooCostly
from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall, ToolSet


def find_loop(messages: Sequence[ChatMessage], tools: ToolSet, most: int) -> Finding | None:
    """Return what is wrong with an invalid call that each of the last `most` turns repeats.

    Each assistant message is a turn: other messages between them are no progress.
    """
    if not tools.tools or most <= 0 or len(messages) < 2 * most:  # each call has its result
        return None
    turns: list[Sequence[AssistantCall]] = []
    for message in reversed(messages):
        if message.role == "assistant":
            if not message.calls:
                return None
            turns.append(message.calls)
            if len(turns) == most:
                break
    if len(turns) < most:
        return None
    repeated = set.intersection(*map(_keys, turns))
    allowance = Allowance()
    for name, arguments in sorted(repeated):
        try:
            if finding := check_call(0, name, arguments or "{}", tools, allowance):
                return finding
        except TooCostly:
            return None  # too costly to validate here: let the loop continue
    return None


def _keys(calls: Sequence[AssistantCall]) -> set[tuple[str, str]]:
    return {(call.name, call.arguments.strip()) for call in calls if call.kind == "function"}


def break_loop(finding: Finding, tools: ToolSet, count: int) -> ChatMessage:
    """Return the message that tells the model what is wrong, and what is expected."""
    lines = [f"You have made the same call of '{finding.tool}' {count} times, and it cannot work."]
    lines.append(f"What is wrong with it: {finding.message}")
    if (tool := tools.tools.get(finding.tool)) is not None:
        lines.append(f"The arguments must fit this JSON Schema: {schema_hint(tool.parameters)}")
    lines.append("Do not make that call again: correct it, use another tool, or answer in words.")
    return ChatMessage("user", "\n".join(lines))
