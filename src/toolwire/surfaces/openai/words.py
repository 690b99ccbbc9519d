"""Words the gateway's errors as OpenAI does, with locations as JSON paths."""

from collections.abc import Callable

from toolwire.errors import GatewayError, HistoryError, HistoryFault, Place

_FIELDS = {"arguments": "function.arguments", "kind": "type"}
"""OpenAI's names for fields."""
_RESULT_FIELDS = {"role": "role", "call_id": "tool_call_id"}
_SHOWN = 100
"""Maximum number of ids in a message."""


def path_of(place: Place) -> str:
    """Return a location as the path of a parameter."""
    name = _FIELDS.get(place.field, place.field)
    if place.tool is not None:
        return f"tools[{place.tool}].{name}"
    if place.message is None:
        return name
    if place.call is not None:
        return f"messages[{place.message}].tool_calls[{place.call}].{name}"
    if place.part is not None:
        return f"messages[{place.message}].content[{place.part}]"
    # OpenAI's message has this dot.
    return f"messages.[{place.message}].{_RESULT_FIELDS[place.field]}"


def worded(error: GatewayError) -> tuple[str, str | None]:
    """Return the message and the parameter of an error."""
    path = path_of(error.place) if error.place is not None else error.param
    if isinstance(error, HistoryError):
        return _SENTENCES[error.fault](error, path or ""), path
    return error.message, path


def _unanswered(error: HistoryError, _path: str) -> str:
    more = len(error.call_ids) - _SHOWN
    ids = ", ".join(error.call_ids[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    position = error.place.message if error.place is not None else 0
    hint = (
        f". 'messages[{position}].tool_call_id' is '{error.result_id}', which is none of them."
        if error.result_id
        else ""
    )
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{ids}{hint}"
    )


def _answered_twice(error: HistoryError, _path: str) -> str:
    position = error.place.message if error.place is not None else 0
    return (
        f"Invalid parameter: 'tool_call_id' '{error.call_ids[0]}' in 'messages[{position}]' is "
        "answered twice, or belongs to an earlier turn. Send one tool message per call, "
        "right after the assistant message that made it."
    )


def _orphan(_error: HistoryError, _path: str) -> str:
    return (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
        "message with 'tool_calls'."
    )


def _invalid(error: HistoryError, path: str) -> str:
    return f"Invalid '{path}': {error}"


_SENTENCES: dict[HistoryFault, Callable[[HistoryError, str], str]] = {
    "unanswered_calls": _unanswered,
    "answered_twice": _answered_twice,
    "orphan_result": _orphan,
    "repeated_call_id": _invalid,
    "long_call_id": _invalid,
}
