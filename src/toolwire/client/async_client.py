"""The async client: the same API as `Client`, with `await`."""

import inspect
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, overload

from toolwire.client.answer import Completion
from toolwire.client.client import CHAT, MODELS, model_names, only_model
from toolwire.client.conversation import AsyncConversation
from toolwire.client.conversation_state import ConversationState
from toolwire.client.events import Event, RunResult
from toolwire.client.request import Messages, ToolChoice, chat_body
from toolwire.client.running.limits import Limits
from toolwire.client.running.runner import Approve, AsyncRun, RunOptions
from toolwire.client.settings import find_settings
from toolwire.client.stream import AsyncStream, read_whole
from toolwire.client.transport import READ_SECONDS, ApiRequest, AsyncTransport


class AsyncClient:
    """An async client for Toolwire, OpenAI, or any OpenAI-compatible server."""

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
        http_client: your own `httpx2.AsyncClient`.
        http_options: any option of `httpx2.AsyncClient`, such as proxy=, verify= or cert=.
        """
        self._settings = find_settings(
            os.environ,
            base_url=base_url,
            api_key=api_key,
            model=model,
            headers=headers,
            max_retries=max_retries,
        )
        self.transport = AsyncTransport(self._settings, timeout, http_client, http_options)
        self._model = self._settings.model

    @property
    def base_url(self) -> str:
        """The base URL of requests."""
        return self._settings.base_url

    @overload
    async def chat(
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
    async def chat(
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
    ) -> AsyncStream: ...
    @overload
    async def chat(
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
    ) -> Completion | AsyncStream: ...
    async def chat(
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
    ) -> Completion | AsyncStream:
        """Send one chat request. Pass any other API parameter by name."""
        body = chat_body(
            messages=messages,
            model=model or await self.default_model(),
            tools=tools,
            tool_choice=tool_choice,
            stream=stream,
            parameters=parameters,
        )
        response = await self.transport.send(
            ApiRequest(CHAT, body, headers=headers, timeout=timeout, stream=stream)
        )
        if stream:
            return AsyncStream(response, self.transport.lost)
        return read_whole(response)

    async def run(
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
        async with self.steps(
            messages,
            tools,
            limits=limits,
            approve=approve,
            stream=stream,
            tool_choice=tool_choice,
            **request,
        ) as run:
            async for event in run:
                if on_event is not None:
                    told = on_event(event)
                    if inspect.isawaitable(told):
                        await told
            return await run.result()

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
    ) -> AsyncRun:
        """Like `run`, but returns an iterator of events."""
        options = RunOptions(
            messages, tools, tool_choice, limits or Limits(), approve, stream, request
        )
        return AsyncRun(self, options)

    def conversation(
        self, conversation_id: str | None = None, *, stored: bool = True
    ) -> AsyncConversation:
        """Return a conversation of Toolwire's native API. Without an id, the server chooses one.

        stored: whether the server keeps the history. If not, the client sends it with each request.
        """
        return AsyncConversation(self, ConversationState(conversation_id, stored))

    async def models(self) -> list[str]:
        """Return the names of the server's models."""
        return model_names((await self.transport.send(ApiRequest(MODELS))).content)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def default_model(self) -> str:
        """Return the default model."""
        if self._model is None:
            self._model = only_model(await self.models())
        return self._model
