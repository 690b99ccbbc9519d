"""Every error a caller may see.

    GatewayError
    ├── RequestError            400  the request is wrong; the message says what, where, what to do
    │   ├── ToolSchemaError     400  a tool's JSON Schema is wrong
    │   ├── HistoryError        400  calls and results do not belong together
    │   ├── SessionsOff         400  this server keeps no conversations
    │   └── IdempotencyKeyReused 422  the key belongs to another request
    ├── Unauthorized            401  no key, or a wrong one
    ├── Forbidden               403  the request may come from an unknown web page
    ├── ResourceNotFound        404  no such path
    │   ├── ModelNotFound       404  no such model
    │   └── ConversationNotFound 404  no such conversation of this key
    ├── MethodNotAllowed        405
    │   └── NoWebSocket         426  the client wants a WebSocket, and there are none
    ├── ConversationBusy        409  another turn of the conversation is running
    ├── ClaimLost               409  the turn took so long that another one may have begun
    ├── TooLarge                413  the body is over the limit
    │   └── ConversationFull    413  the conversation has too many turns or bytes
    ├── Overloaded              503  more requests or connections than the limits allow
    ├── ShuttingDown            503  the process is ending
    ├── StoreUnavailable        503  the session store does not answer
    ├── InternalError           500  our fault
    └── UpstreamError           502  the backend failed
        ├── KeyRefused          4xx  the backend refused our key, with 401 or 403
        ├── UpstreamUnavailable 503  the backend cannot be reached, or says it is busy
        ├── UpstreamTimeout     504  the backend is too slow
        ├── UpstreamRefused     4xx  the backend refused the request; its own words
        │   └── ToolsRefused    400  it does not support tools
        ├── ToolChoiceUnmet     502  the model did not do what tool_choice demands
        ├── InvalidToolArguments 502  a call that must match its tool does not
        └── UncheckedToolArguments 502  a call of a strict tool could not be checked in time

Facts live on the class, particulars in the constructor. Each surface turns them into its own
body in one place, in its own words.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec


class Place(msgspec.Struct, frozen=True):
    """The part of a request that an error is about, independent of any wire."""

    field: str = ""
    message: int | None = None
    part: int | None = None
    call: int | None = None
    tool: int | None = None


class GatewayError(Exception):
    """Something a caller is told about.

    Where it is: `place` if the gateway found it, `param` if a surface or a backend said it, in the
    words of its own wire.
    """

    status: int = 500
    type: str = "server_error"
    code: str | None = None
    lasting: bool = False
    """Asking again cannot help before somebody changes something."""
    retry_after: float | None = None
    """Seconds after which it is worth trying again."""
    request_id: str = ""
    """The request it answers, for surfaces whose errors name it."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        place: Place | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.place = place
        if code is not None:
            self.code = code


class RequestError(GatewayError):
    """The client's request is wrong."""

    status = 400
    type = "invalid_request_error"


class ToolSchemaError(RequestError):
    """A tool's parameters are not a valid schema."""

    code = "invalid_function_parameters"


HistoryFault: TypeAlias = Literal[
    "unanswered_calls",
    "answered_twice",
    "orphan_result",
    "repeated_call_id",
    "long_call_id",
]


class HistoryError(RequestError):
    """Calls and results of the conversation do not belong together.

    `call_ids` are those it is about, and `result_id` is the one that a result names instead.
    """

    def __init__(
        self,
        fault: HistoryFault,
        message: str,
        place: Place,
        call_ids: tuple[str, ...],
        *,
        result_id: str = "",
        code: str | None = None,
    ) -> None:
        super().__init__(message, place=place, code=code)
        self.fault = fault
        self.call_ids = call_ids
        self.result_id = result_id


class SessionsOff(RequestError):
    """This server keeps no conversations: see `sessions`."""

    code = "sessions_off"


class IdempotencyKeyReused(RequestError):
    """The `Idempotency-Key` belongs to another request of the same conversation."""

    status = 422
    code = "idempotency_key_reused"


class Unauthorized(GatewayError):
    """No API key, or an unknown one."""

    status = 401
    type = "invalid_request_error"
    code = "invalid_api_key"


class Forbidden(GatewayError):
    """Without client keys: the request may come from a web page. See `[listen]`."""

    status = 403
    type = "invalid_request_error"
    code = "forbidden"


class ResourceNotFound(GatewayError):
    """There is nothing at this path."""

    status = 404
    type = "invalid_request_error"
    code = "not_found"


class ModelNotFound(ResourceNotFound):
    """No route serves this model."""

    code = "model_not_found"


class ConversationNotFound(ResourceNotFound):
    """There is no such conversation: it never existed, has expired, or belongs to another key."""

    code = "conversation_not_found"


class MethodNotAllowed(GatewayError):
    """The path does not support this method."""

    status = 405
    type = "invalid_request_error"
    code = "method_not_allowed"

    def __init__(self, message: str, *, allowed: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.allowed = tuple(allowed)


class NoWebSocket(MethodNotAllowed):
    """There are no WebSockets here: send the request over HTTP."""

    status = 426  # which makes Codex go on over HTTP at once
    code = "websocket_not_supported"


class ConversationBusy(GatewayError):
    """Another turn of the same conversation is running. Retry after `Retry-After`, or wait."""

    status = 409
    type = "invalid_request_error"
    code = "conversation_busy"
    retry_after = 1.0


class ClaimLost(GatewayError):
    """The lock on the conversation expired before the turn ended. Nothing was kept."""

    status = 409
    type = "invalid_request_error"
    code = "conversation_changed"


class TooLarge(GatewayError):
    """The request body is too large."""

    status = 413
    type = "invalid_request_error"
    code = "request_too_large"


class ConversationFull(TooLarge):
    """The conversation has reached its maximum number of turns or bytes: see `[sessions]`."""

    code = "conversation_full"


class Overloaded(GatewayError):
    """Too many concurrent requests or connections: see `[limits]`. Retry after `Retry-After`."""

    status = 503
    code = "overloaded"
    retry_after = 1.0


class ShuttingDown(GatewayError):
    """The server is shutting down."""

    status = 503
    code = "shutting_down"
    retry_after = 1.0


class StoreUnavailable(GatewayError):
    """The session store does not answer. Requests without a session are served."""

    status = 503
    code = "session_store_unavailable"
    retry_after = 1.0


class InternalError(GatewayError):
    """A bug in Toolwire. The log has the details, under the request id."""

    code = "internal_error"


class UpstreamError(GatewayError):
    """The backend failed."""

    status = 502
    code = "upstream_error"
    retryable: bool = True
    """The same request may succeed if it is sent again."""
    elsewhere: bool = False
    """Another backend of the same model may do what this one will not."""
    own_type: str | None = None
    """What the backend itself calls this type of error."""


class KeyRefused(UpstreamError):
    """The backend refused our key, or what it is used for; its own words."""

    status = 401
    type = "invalid_request_error"
    code = "upstream_key_refused"
    retryable = False
    lasting = True
    elsewhere = True

    def __init__(self, message: str, *, status: int = 401) -> None:
        super().__init__(message)
        self.status = status


class UpstreamUnavailable(UpstreamError):
    """The backend cannot be reached, or says that it is busy."""

    status = 503
    disconnected: bool = False
    """The connection broke during the answer."""

    def __init__(
        self, message: str, *, retry_after: float | None = None, rate_limited: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        if rate_limited:
            self.status = 429
            self.code = "rate_limit_exceeded"


class UpstreamTimeout(UpstreamError):
    """The backend was silent for longer than the limit."""

    status = 504
    code = "upstream_timeout"
    retryable = False


class UpstreamRefused(UpstreamError):
    """The backend refused the request: its status and its own words, in our form."""

    type = "invalid_request_error"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        status: int,
        param: str | None = None,
        place: Place | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, param=param, place=place, code=code)
        self.status = status


class ToolsRefused(UpstreamRefused):
    """The backend does not support tools."""

    status = 400
    code = "unsupported_parameter"

    def __init__(self, message: str) -> None:
        super().__init__(message, status=400, place=Place("tools"), code="unsupported_parameter")


class ToolChoiceUnmet(UpstreamError):
    """`tool_choice` requires a call, and the model made none."""

    code = "tool_choice_unmet"
    retryable = False
    said: str = ""
    """What the model said instead."""
    called: bool = False
    """Whether it called something else."""


class InvalidToolArguments(UpstreamError):
    """A call that must match its tool does not, even after asking again.

    `said` is the text that the model wrote, `calls` the name and the arguments of each call as it
    wrote them, `faults` the number of each call that does not fit, a code and the reason.
    """

    code = "invalid_tool_arguments"
    retryable = False
    cut_off: bool = False
    """The model had no room to finish."""
    said: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    faults: tuple[tuple[int, str, str], ...] = ()


class UncheckedToolArguments(UpstreamError):
    """A call of a strict tool could not be checked in time."""

    code = "unchecked_tool_arguments"
    retryable = False
