"""Every error of the Python client.

ClientError
├── ConfigurationError     the client is configured incorrectly
│   └── MissingPackage     an optional package is not installed
├── ConnectionFailed       the server cannot be reached, or the connection broke
│   └── RequestTimeout     the server did not answer in time
├── APIError               the server answered with an error: its message, code and param
│   ├── BadRequest         400, 422
│   ├── AuthenticationFailed  401
│   ├── PermissionDenied   403
│   ├── NotFound           404
│   ├── RateLimited        429
│   └── ServerError        5xx, or an error in the middle of a stream
├── BadAnswer              the response is not a valid answer
│   └── StreamBroken       the stream ended before the answer did
├── ToolDefinitionError    a function cannot become a tool
│   └── DuplicateTool      two tools have the same name
├── UnknownTool            no tool has this name
├── InvalidArguments       the arguments of a call are invalid
├── ToolError              raised by a tool; its text goes to the model
└── LimitReached           a run took longer than its limit
"""

from collections.abc import Mapping
from typing import Any

from toolwire.extras import how_to_install


class ClientError(Exception):
    """The base class of all errors of the client."""


class ConfigurationError(ClientError):
    """The client is configured incorrectly."""


class MissingPackage(ConfigurationError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed. Run: {how_to_install(extra)}")
        self.package = package


class ConnectionFailed(ClientError):
    """The server cannot be reached, or the connection broke before there was an answer."""

    retryable: bool = True


class RequestTimeout(ConnectionFailed):
    """The server did not answer in time. `retryable` if it never received the request."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class APIError(ClientError):
    """The server answered with an error."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        type: str | None = None,  # noqa: A002 - the wire's name
        code: str | None = None,
        param: str | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.type = type
        self.code = code
        self.param = param
        self.body = body
        self.headers = dict(headers or {})

    def __str__(self) -> str:
        facts = [("status", self.status), ("code", self.code), ("param", self.param)]
        shown = ", ".join(f"{name} {value}" for name, value in facts if value is not None)
        return f"{self.message} ({shown})" if shown else self.message

    @property
    def request_id(self) -> str | None:
        """The id of the request in the server's logs."""
        return self.headers.get("x-request-id")


class BadRequest(APIError):
    """The request is invalid; the message says what is wrong and where."""


class AuthenticationFailed(APIError):
    """The API key is missing or unknown."""


class PermissionDenied(APIError):
    """The API key does not permit this."""


class NotFound(APIError):
    """There is no such model, or no such path."""


class Conflict(APIError):
    """Another turn of the same conversation is running, or has changed it."""


class RateLimited(APIError):
    """There were too many requests, or the quota is exhausted. `retry_after` is in seconds."""

    retry_after: float | None = None


class ServerError(APIError):
    """The server, or the model behind it, failed."""

    retry_after: float | None = None


class BadAnswer(ClientError):
    """The response is not a valid answer of an OpenAI-compatible server."""


class StreamBroken(BadAnswer):
    """The stream ended before the answer did."""


class ToolDefinitionError(ClientError, TypeError):
    """A function cannot become a tool; the message names the parameter and the reason."""


class DuplicateTool(ToolDefinitionError):
    """Two tools have the same name."""


class UnknownTool(ClientError, LookupError):
    """No tool has this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidArguments(ClientError, ValueError):
    """The arguments of a call are invalid for its tool."""


class ToolError(ClientError):
    """Raise this in a tool to send its text to the model verbatim."""


class LimitReached(ClientError):
    """A run took longer than its limit. `messages` is the conversation so far."""

    def __init__(self, message: str, messages: list[Any]) -> None:
        super().__init__(message)
        self.messages = messages
