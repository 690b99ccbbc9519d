"""Every error of the Python client.

ClientError
├── ConfigurationError     the client cannot be used as it was set up
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
├── BadAnswer              what came back is not an answer
│   └── StreamBroken       the stream ended before the answer did
├── ToolDefinitionError    a function cannot be made a tool
│   └── DuplicateTool      two tools have the same name
├── UnknownTool            no tool has this name
├── InvalidArguments       the arguments of a call do not fit its tool
├── ToolError              raised by a tool: its text is what the model is told
└── LimitReached           a run took longer than its limit
"""

from collections.abc import Mapping
from typing import Any


class ClientError(Exception):
    """Something went wrong in the client, or it was told so."""


class ConfigurationError(ClientError):
    """The client cannot be used as it was set up."""


class MissingPackage(ConfigurationError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed. Install it with: pip install {extra!r}")
        self.package = package


class ConnectionFailed(ClientError):
    """The server cannot be reached, or the connection broke before there was an answer."""

    retryable: bool = True


class RequestTimeout(ConnectionFailed):
    """The server did not answer in time. `retryable` tells whether it had the request at all."""

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
        """What the server calls the request in its logs."""
        return self.headers.get("x-request-id")


class BadRequest(APIError):
    """The request is wrong; the message says what and where."""


class AuthenticationFailed(APIError):
    """No API key, or one that the server does not know."""


class PermissionDenied(APIError):
    """The key may not do this."""


class NotFound(APIError):
    """There is no such model, or no such path."""


class Conflict(APIError):
    """Another turn of the same conversation is running, or has changed it."""


class RateLimited(APIError):
    """Too many requests, or the quota is spent. `retry_after` is in seconds."""

    retry_after: float | None = None


class ServerError(APIError):
    """The server, or the model behind it, failed."""

    retry_after: float | None = None


class BadAnswer(ClientError):
    """What came back is not an answer of an OpenAI-compatible server."""


class StreamBroken(BadAnswer):
    """The stream ended before the answer did."""


class ToolDefinitionError(ClientError, TypeError):
    """A function cannot be made a tool; the message names the parameter and the reason."""


class DuplicateTool(ToolDefinitionError):
    """Two tools have the same name."""


class UnknownTool(ClientError, LookupError):
    """No tool has this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidArguments(ClientError, ValueError):
    """The arguments of a call do not fit its tool."""


class ToolError(ClientError):
    """Raise it in a tool: its text is what the model is told, as it is."""


class LimitReached(ClientError):
    """A run took longer than its limit. `messages` is the conversation so far."""

    def __init__(self, message: str, messages: list[Any]) -> None:
        super().__init__(message)
        self.messages = messages
