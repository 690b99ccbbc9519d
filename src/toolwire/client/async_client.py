"""The async client: the same API as `Client`, with `await`."""

from collections.abc import Mapping
from typing import Any, Literal, Self, overload

from toolwire.client.answer import Completion
from toolwire.client.base import MODELS, BaseClient, model_names, only_model
from toolwire.client.conversation import AsyncConversation
from toolwire.client.request import Messages, ToolChoice, chat_request
from toolwire.client.running.runner import AsyncRun, AsyncRuns
from toolwire.client.streaming.stream import AsyncStream, read_whole
from toolwire.client.transport import AsyncTransport


class AsyncClient(BaseClient[AsyncTransport, AsyncRun, AsyncConversation], AsyncRuns):
    """An async client for Toolwire, OpenAI, or any OpenAI-compatible server."""

    _transport = AsyncTransport
    _run = AsyncRun
    _conversation = AsyncConversation

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
        outgoing = chat_request(
            messages,
            model or await self.default_model(),
            tools=tools,
            tool_choice=tool_choice,
            stream=stream,
            timeout=timeout,
            headers=headers,
            parameters=parameters,
        )
        response = await self.transport.send(outgoing)
        return AsyncStream(response, self.transport.lost) if stream else read_whole(response)

    async def models(self) -> list[str]:
        """Return the names of the server's models."""
        return model_names((await self.transport.send(MODELS)).content)

    async def default_model(self) -> str:
        """Return the default model."""
        if self._model is None:
            self._model = only_model(await self.models())
        return self._model

    async def aclose(self) -> None:
        """Close the connections."""
        await self.transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
