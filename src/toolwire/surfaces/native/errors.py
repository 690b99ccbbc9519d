"""Converts a `GatewayError` to the native error body, or to the last event of a stream."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from toolwire.errors import GatewayError, HistoryError, InvalidToolArguments, Place, ToolChoiceUnmet
from toolwire.surfaces.native.problems import InvalidRequest
from toolwire.surfaces.native.wire import (
    Error,
    ErrorEvent,
    ErrorResponse,
    ModelSaid,
    Problem,
    SaidCall,
)
from toolwire.surfaces.openai_error import error_type

_encode = msgspec.json.Encoder().encode
MODEL_MISTAKE = 422
_MISTAKES = (InvalidToolArguments, ToolChoiceUnmet)
_FIELDS = {"arguments": "function.arguments", "kind": "type", "call_id": "tool_call_id"}
_MODEL_TYPE = "model_error"


def status_of(error: GatewayError) -> int:
    """Return the status of an error. Mistakes of the model have their own status."""
    return MODEL_MISTAKE if isinstance(error, _MISTAKES) else error.status


def error_body(error: GatewayError, origins: Sequence[str] = ()) -> bytes:
    """Return the error body. `origins` is the origin of each message of the history."""
    return _encode(ErrorResponse(_error(error, origins)))


def error_event(error: GatewayError, origins: Sequence[str] = ()) -> bytes:
    """Encode the error as the last event of a stream."""
    return b"event: error\ndata: " + _encode(ErrorEvent(_error(error, origins))) + b"\n\n"


def _error(error: GatewayError, origins: Sequence[str]) -> Error:
    path = path_of(error.place, origins) if error.place is not None else error.param
    message = error.message
    if isinstance(error, HistoryError):
        message = f"Invalid '{path}': {message[:1].lower()}{message[1:]}"
    return Error(
        message,
        _MODEL_TYPE if isinstance(error, _MISTAKES) else error_type(error),
        path,
        error.code or ("invalid_history" if isinstance(error, HistoryError) else None),
        _problems(error, message, path),
        _said(error),
    )


def path_of(place: Place, origins: Sequence[str] = ()) -> str:
    """Return a location as a path of the request."""
    name = _FIELDS.get(place.field, place.field)
    if place.tool is not None:
        return f"tools[{place.tool}].{name}"
    if place.message is None:
        return name
    at = place.message
    message = origins[at] if at < len(origins) else f"messages[{at}]"
    if place.call is not None:
        return f"{message}.tool_calls[{place.call}].{name}"
    if place.part is not None:
        return f"{message}.content[{place.part}]"
    return f"{message}.{name}" if name != "role" else message


def _problems(error: GatewayError, message: str, path: str | None) -> list[Problem] | UnsetType:
    if isinstance(error, InvalidRequest):
        return list(error.problems)
    if isinstance(error, HistoryError):
        return [Problem(path or "", error.code or "invalid_history", message)]
    return UNSET


def _said(error: GatewayError) -> ModelSaid | UnsetType:
    if isinstance(error, ToolChoiceUnmet):
        return ModelSaid(error.said or None, [])
    if not isinstance(error, InvalidToolArguments):
        return UNSET
    wrong = {index: (code, message) for index, code, message in error.faults}
    calls = [
        SaidCall(name, arguments, *wrong.get(index, (None, None)))
        for index, (name, arguments) in enumerate(error.calls)
    ]
    return ModelSaid(error.said or None, calls)
