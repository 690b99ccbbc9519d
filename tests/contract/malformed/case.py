"""What a malformed request is: a body and its refusal."""

from dataclasses import dataclass

TYPE, VALUE, MISSING = "invalid_type", "invalid_value", "missing_required_parameter"
SCHEMA = "invalid_function_parameters"


@dataclass(frozen=True)
class BadRequest:
    """A body, and the error it must get. What is not JSON has neither param nor code."""

    kind: str
    name: str
    raw: bytes
    param: str | None = None
    code: str | None = None
