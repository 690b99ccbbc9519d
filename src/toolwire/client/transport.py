"""Sends HTTP requests with retries, and converts every failure to a `ClientError`.

The sync and the async transport differ only in `await`.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from toolwire.client.errors import (
    APIError,
    AuthenticationFailed,
    BadRequest,
    ConfigurationError,
    Conflict,
    ConnectionFailed,
    MissingPackage,
    NotFound,
    PermissionDenied,
    RateLimited,
    RequestTimeout,
    ServerError,
)
from toolwire.client.retry import RetryPolicy, retry_after
from toolwire.client.settings import LOCAL, Settings
from toolwire.client.wire import error_of

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0
READ_SECONDS = 600.0
"""Read timeout. A model may think for minutes before its first token."""
_ERRORS: dict[int, type[APIError]] = {
    400: BadRequest,
    401: AuthenticationFailed,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    422: BadRequest,
    429: RateLimited,
}


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request. `timeout` is the read timeout, in seconds."""

    path: str
    body: bytes | None = None
    headers: Mapping[str, str] | None = None
    timeout: float | None = None
    stream: bool = False
    method: str = ""
    """Default: POST if there is a body, otherwise GET."""
    at_root: bool = False
    """Whether the path is relative to the server's root instead of the base URL."""


def load_httpx() -> Any:
    """Import the HTTP library when the first client is created."""
    try:
        import httpx2  # noqa: PLC0415 - it takes longer than all of ours
    except ModuleNotFoundError as error:
        if error.name != "httpx2":
            raise
        raise MissingPackage("httpx2", "client") from None
    return httpx2


class _Transport:
    """The code shared by both transports. `_kind` is the name of their HTTP client's class."""

    _kind: ClassVar[str]
    _http: Any

    def __init__(
        self, settings: Settings, timeout: Any, http: Any, options: Mapping[str, Any]
    ) -> None:
        if http is not None and options:
            raise ConfigurationError(
                f"Give {', '.join(options)} to the http_client itself, or leave http_client out."
            )
        self._httpx = load_httpx()
        self._settings = settings
        self._headers = settings.request_headers()
        self._timeout = self._seconds(timeout)
        self._retry = RetryPolicy(settings.max_retries, jitter=random.random)
        self._owned = http is None
        self._http = http or getattr(self._httpx, self._kind)(**options)

    def _seconds(self, timeout: Any) -> "httpx2.Timeout":
        if isinstance(timeout, int | float):
            return self._httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))  # type: ignore[no-any-return]
        return timeout  # type: ignore[no-any-return]

    def _request(self, request: ApiRequest) -> "httpx2.Request":
        headers = {**self._headers, **(request.headers or {})}
        timeout = self._timeout if request.timeout is None else self._seconds(request.timeout)
        return self._http.build_request(  # type: ignore[no-any-return]
            request.method or ("GET" if request.body is None else "POST"),
            (self._settings.root_url if request.at_root else self._settings.base_url)
            + request.path,
            content=request.body,
            headers=headers,
            timeout=timeout,
        )

    def _delay(
        self, attempt: int, error: ConnectionFailed | APIError, request: ApiRequest
    ) -> float:
        """Return the seconds until the next attempt. Raises the error if there is none."""
        delay = self._retry.delay(attempt, error)
        if delay is None or (request.timeout is not None and delay > request.timeout):
            raise error
        return delay

    def lost(self, error: Exception) -> ConnectionFailed:
        """Convert an exception of the HTTP library."""
        httpx, url = self._httpx, self._settings.shown_url
        why = str(error) or type(error).__name__
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            return RequestTimeout(f"Could not connect to {url} in time.", retryable=True)
        if isinstance(error, httpx.TimeoutException):
            return RequestTimeout(
                f"{url} was silent for longer than the timeout. "
                "Give the client a longer one with timeout=SECONDS.",
                retryable=False,
            )
        if isinstance(error, httpx.ConnectError):
            return ConnectionFailed(f"Could not connect to {url}: {why}. {_connect_hint(url, why)}")
        return ConnectionFailed(f"The connection to {url} broke: {why}")

    def refused(self, response: "httpx2.Response", body: bytes) -> APIError:
        """Convert an HTTP error status to an exception."""
        status, headers = response.status_code, response.headers
        try:
            value = msgspec.json.decode(body) if body else None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            value = body.decode("utf-8", "replace").strip()[:1000] or None
        message, facts = error_of(value, status)
        kind = _ERRORS.get(status, ServerError if status >= 500 else APIError)
        error = kind(
            message + self._hint(status, headers),
            status=status,
            body=value,
            headers={name.lower(): text for name, text in headers.items()},
            **facts,
        )
        if isinstance(error, RateLimited | ServerError):
            error.retry_after = retry_after(error.headers)
        return error

    def _hint(self, status: int, headers: Mapping[str, str]) -> str:
        settings = self._settings
        if 300 <= status < 400:
            where = headers.get("location", "elsewhere")
            return f" {settings.base_url} redirects to {where}; set base_url to the right address."
        if status == 401 and not settings.api_key:
            return " No API key was sent: give api_key=..., or set TOOLWIRE_API_KEY."
        if status == 404 and settings.base_url.count("/") == 2:
            return f" Did you mean base_url={settings.base_url + '/v1'!r}?"
        return ""


class Transport(_Transport):
    """Sends requests synchronously."""

    _kind = "Client"
    _http: "httpx2.Client"

    def send(self, request: ApiRequest) -> "httpx2.Response":
        """The response, once it is a success; its body is read unless it is streamed."""
        attempt = 0
        while True:
            try:
                return self._attempt(request)
            except (ConnectionFailed, APIError) as error:
                delay = self._delay(attempt, error, request)
            attempt += 1
            time.sleep(delay)

    def _attempt(self, request: ApiRequest) -> "httpx2.Response":
        try:
            response = self._http.send(self._request(request), stream=request.stream)
            if response.is_success:
                return response
            body = response.read()
            response.close()
        except self._httpx.TransportError as error:
            raise self.lost(error) from error
        raise self.refused(response, body)

    def close(self) -> None:
        """Close the connections, unless the HTTP client was handed in."""
        if self._owned:
            self._http.close()

    def __del__(self) -> None:
        # A client that was never closed, as in `Client().run(...)`, leaves no open socket behind.
        if getattr(self, "_http", None) is not None:
            with contextlib.suppress(RuntimeError, OSError, TypeError, AttributeError):
                self.close()


class AsyncTransport(_Transport):
    """Sends requests asynchronously."""

    _kind = "AsyncClient"
    _http: "httpx2.AsyncClient"

    async def send(self, request: ApiRequest) -> "httpx2.Response":
        """The response, once it is a success; its body is read unless it is streamed."""
        attempt = 0
        while True:
            try:
                return await self._attempt(request)
            except (ConnectionFailed, APIError) as error:
                delay = self._delay(attempt, error, request)
            attempt += 1
            await asyncio.sleep(delay)

    async def _attempt(self, request: ApiRequest) -> "httpx2.Response":
        try:
            response = await self._http.send(self._request(request), stream=request.stream)
            if response.is_success:
                return response
            body = await response.aread()
            await response.aclose()
        except self._httpx.TransportError as error:
            raise self.lost(error) from error
        raise self.refused(response, body)

    async def aclose(self) -> None:
        """Close the connections, unless the HTTP client was handed in."""
        if self._owned:
            await self._http.aclose()


def _connect_hint(url: str, why: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return "If its certificate is your own, name it with SSL_CERT_FILE or verify=."
    if url == LOCAL:
        return "Start Toolwire with `toolwire serve`, or set base_url or TOOLWIRE_BASE_URL."
    return "Is the server running, and is base_url right?"
