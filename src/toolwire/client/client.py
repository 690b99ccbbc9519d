"""The client: `chat` for one request, `run` to let the model use functions."""

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, overload

import msgspec

from toolwire.client.answer import Completion
from toolwire.client.conversation import Conversation
from toolwire.client.conversation_state import ConversationState
from toolwire.client.errors import BadAnswer, ConfigurationError
from toolwire.client.events import Event, RunResult
from toolwire.client.request import Messages, ToolChoice, chat_body
from toolwire.client.running.limits import Limits
from toolwire.client.running.runner import Approve, Run, RunOptions
from toolwire.client.settings import find_settings
from toolwire.client.stream import Stream, read_whole
from toolwire.client.transport import READ_SECONDS, ApiRequest, Transport

CHAT = "/chat/completions"
MODELS = "/models"


class Client:
    """A client for Toolwire, OpenAI, or any OpenAI-compatible server."""

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
        http_client: your own `httpx2.Client`.
        http_options: any option of `httpx2.Client`, such as proxy=, verify= or cert=.
        """
        self._settings = find_settings(
            os.environ,
            base_url=base_url,
            api_key=api_key,
            model=model,
            headers=headers,
            max_retries=max_retries,
        )
        self.transport = Transport(self._settings, timeout, http_client, http_options)
        self._model = self._settings.model

    @property
    def base_url(self) -> str:
        """The base URL of requests."""
        return self._settings.base_url

    @overload
    def chat(
        self,
        messages: Messages,
        *,
        model: str | None = ...,
        tools: Any = ...,
        tool_choice: ToolChoice | None = ...,
        parallel_tool_calls: bool | None = ...,
        temperature: float | None = ...,
        stream: Literal[False] = ...,
        timeout: float | None = ...,
        headers: Mapping[str, str] | None = ...,
        **parameters: Any,
    ) -> Completion: ...
    @overload
    def chat(
        self,
        messages: Messages,
        *,
        model: str | None = ...,
        tools: Any = ...,
        tool_choice: ToolChoice | None = ...,
        parallel_tool_calls: bool | None = ...,
        temperature: float | None = ...,
        stream: Literal[True],
        timeout: float | None = ...,
        headers: Mapping[str, str] | None = ...,
        **parameters: Any,
    ) -> Stream: ...
    @overload
    def chat(
        self,
        messages: Messages,
        *,
        model: str | None = ...,
        tools: Any = ...,
        tool_choice: ToolChoice | None = ...,
        parallel_tool_calls: bool | None = ...,
        temperature: float | None = ...,
        stream: bool,
        timeout: float | None = ...,
        headers: Mapping[str, str] | None = ...,
        **parameters: Any,
    ) -> Completion | Stream: ...
    def chat(
        self,
        messages: Messages,
        *,
        model: str | None = None,
        tools: Any = None,
        tool_choice: ToolChoice | None = None,
        stream: bool = False,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        **parameters: Any,
    ) -> Completion | Stream:
        """Send one chat request. Pass any other API parameter by name."""
        body = chat_body(
            messages=messages,
            model=model or self.default_model(),
            tools=tools,
            tool_choice=tool_choice,
            stream=stream,
            parameters=parameters,
        )
        response = self.transport.send(
            ApiRequest(CHAT, body, headers=headers, timeout=timeout, stream=stream)
        )
        if stream:
            return Stream(response, self.transport.lost)
        return read_whole(response)

    def run(
        self,
        messages: Messages,
        tools: Any = (),
        *,
        limits: Limits | None = None,
        approve: Approve | None = None,
        on_event: Callable[[Event], Any] | None = None,
        stream: bool = False,
        tool_choice: ToolChoice | None = None,
        **request: Any,
    ) -> RunResult:
        """Let the model use the tools until it answers with text.

        limits: the limits of the run.
        approve: called before each call; returns True, False, `Deny(reason)`, or other arguments.
        on_event: called with every event, for logging.
        Any other parameter is passed to each request, as in `chat`.
        """
        with self.steps(
            messages,
            tools,
            limits=limits,
            approve=approve,
            stream=stream,
            tool_choice=tool_choice,
            **request,
        ) as run:
            for event in run:
                if on_event is not None:
                    on_event(event)
            return run.result

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
    ) -> Run:
        """Like `run`, but returns an iterator of events."""
        options = RunOptions(
            messages, tools, tool_choice, limits or Limits(), approve, stream, request
        )
        return Run(self, options)

    def conversation(
        self, conversation_id: str | None = None, *, stored: bool = True
    ) -> Conversation:
        """Return a conversation of Toolwire's native API. Without an id, the server chooses one.

        stored: whether the server keeps the history. If not, the client sends it with each request.
        """
        return Conversation(self, ConversationState(conversation_id, stored))

    def models(self) -> list[str]:
        """Return the names of the server's models."""
        return model_names(self.transport.send(ApiRequest(MODELS)).content)

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def default_model(self) -> str:
        """Return the default model."""
        if self._model is None:
            self._model = only_model(self.models())
        return self._model


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
