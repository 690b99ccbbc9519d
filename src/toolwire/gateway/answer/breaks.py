"""Explains an answer that was cut off after it had started."""

from toolwire.errors import (
    InvalidToolArguments,
    ToolChoiceUnmet,
    UncheckedToolArguments,
    UpstreamError,
    UpstreamRefused,
)

_OF_THE_MODEL = (InvalidToolArguments, UncheckedToolArguments, ToolChoiceUnmet)
_WHAT_TO_DO = (
    "The answer is incomplete. Send the request again; if that fails, look at the backend's log."
)


def explain_break(error: UpstreamError, backend: str) -> None:
    """Add to the error who cut off the answer, and what to do."""
    if isinstance(error, _OF_THE_MODEL) or _WHAT_TO_DO in error.message:
        return
    said = error.message.strip()
    said = said if said.endswith((".", "!", "?")) else f"{said}."
    if f"'{backend}'" not in said:
        said = f"The backend '{backend}' failed in the middle of its answer: {said}"
    again = not error.lasting and not isinstance(error, UpstreamRefused)
    error.message = f"{said} {_WHAT_TO_DO}" if again else said
