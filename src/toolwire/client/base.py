"""What both clients have in common: settings, the connection, and runs."""

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from toolwire.client.conversation_state import ConversationState
from toolwire.client.errors import BadAnswer, ConfigurationError
from toolwire.client.request import Messages, ToolChoice
from toolwire.client.running.limits import Limits
from toolwire.client.running.runner import Approve, RunOptions
from toolwire.client.settings import find_settings
from toolwire.client.transport import READ_SECONDS, ApiRequest

MODELS = ApiRequest("/models")
TransportT = TypeVar("TransportT")
RunT = TypeVar("RunT")
ConversationT = TypeVar("ConversationT")


class BaseClient(Generic[TransportT, RunT, ConversationT]):
    """The base of both clients."""

    _transport: ClassVar[Callable[..., Any]]
    _run: ClassVar[Callable[..., Any]]
    _conversation: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        model: str | None = None,
        timeout: Any = READ_SECONDS,
        max_retries: int = 2,
        headers: Mapping[str, str] | None = None,
        http_client: Any = None,
        **http_options: Any,
    ) -> None:
        """Configure the server and the connection.

        base_url, api_key: by default TOOLWIRE_BASE_URL and TOOLWIRE_API_KEY, then OPENAI_BASE_URL
            and OPENAI_API_KEY; without any, Toolwire on this machine.
        model: the default model; otherwise TOOLWIRE_MODEL, then the server's only model.
        timeout: seconds without any data, or an `httpx2.Timeout`.
        max_retries: for connection errors, 429 and 5xx. Honors the server's Retry-After.
        http_client: your own `httpx2.Client`; for an `AsyncClient`, an `httpx2.AsyncClient`.
        http_options: any option of that class, such as proxy=, verify= or cert=.
        """
        self._settings = find_settings(
            os.environ,
            base_url=base_url,
            api_key=api_key,
            model=model,
            headers=headers,
            max_retries=max_retries,
        )
        self.transport: TransportT = self._transport(
            self._settings, timeout, http_client, http_options
        )
        self._model = self._settings.model

    @property
    def base_url(self) -> str:
        """The base URL of requests."""
        return self._settings.base_url

    def steps(
        self,
        messages: Messages,
        tools: Any = (),
        *,
        limits: Limits | None = None,
        approve: Approve | None = None,
        stream: bool = True,
        tool_choice: ToolChoice | None = None,
        **request: Any,
    ) -> RunT:
        """Like `run`, but returns an iterator of events."""
        options = RunOptions(messages, tools, tool_choice, limits, approve, stream, request)
        run: RunT = self._run(self, options)
        return run

    def conversation(
        self, conversation_id: str | None = None, *, stored: bool = True
    ) -> ConversationT:
        """Return a conversation of Toolwire's native API. Without an id, the server chooses one.

        stored: whether the server keeps the history. If not, the client sends it with each request.
        """
        state = ConversationState(conversation_id, stored)
        conversation: ConversationT = self._conversation(self, state)
        return conversation


def model_names(body: bytes) -> list[str]:
    """Return the names in the body of /v1/models."""
    try:
        return [entry["id"] for entry in msgspec.json.decode(body)["data"]]
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError):
        raise BadAnswer("The server's list of models cannot be read.") from None


def only_model(names: list[str]) -> str:
    """Return the model of a server that has exactly one."""
    if len(names) == 1:
        return names[0]
    known = f"The server has {', '.join(names[:20])}." if names else "The server lists none."
    raise ConfigurationError(f"No model was named. Give model=..., or set TOOLWIRE_MODEL. {known}")
