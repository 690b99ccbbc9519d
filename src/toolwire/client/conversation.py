"""Conversations of Toolwire's native API: the server keeps the history, or the client does.

Only new messages are sent. Calls are complete and valid, and a result can flag that its tool
failed. An invalid call that could not be repaired raises `BadRequest` with status 422.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolwire.client.conversation_state import ConversationState
from toolwire.client.events import Event, RunResult
from toolwire.client.request import Messages, ToolChoice
from toolwire.client.running.limits import Limits
from toolwire.client.running.runner import Approve, AsyncRun, Run, RunOptions
from toolwire.client.stream import AsyncStream, Stream, read_whole

if TYPE_CHECKING:
    from toolwire.client.async_client import AsyncClient
    from toolwire.client.client import Client


class Conversation:
    """A conversation. `id` is known after the first answer, if the server chose it."""

    def __init__(self, client: "Client", state: ConversationState) -> None:
        self._client = client
        self._state = state

    @property
    def id(self) -> str | None:
        """The conversation's id; None if the server does not keep it, or has not chosen one yet."""
        return self._state.id

    def chat(
        self,
        messages: Messages = (),
        *,
        model: str | None = None,
        tools: Any = None,
        tool_choice: ToolChoice | None = None,
        stream: bool = False,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        **parameters: Any,
    ) -> Any:
        """Send new messages and get the answer: a `Completion`, or a `Stream`.

        `tool_results=[{"tool_call_id": ..., "content": ..., "is_error": ...}]` answers calls, and
        `wait=SECONDS` waits for another turn of the same conversation to end.
        """
        if model is None and self._state.needs_model:
            with self._state.may_know_model():
                model = self._client.default_model()
        sent = self._state.turn(
            messages,
            model=model,
            tools=tools,
            tool_choice=tool_choice,
            stream=stream,
            parameters=parameters,
        )
        response = self._client.transport.send(sent.outgoing(timeout, headers))
        if stream:
            return Stream(response, self._client.transport.lost, sent.read)
        return sent.took(read_whole(response))

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
        """Let the model use the tools until it answers with text: see `Client.run`."""
        options = RunOptions(
            messages, tools, tool_choice, limits or Limits(), approve, stream, request,
            marks_errors=True,
        )  # fmt: skip
        with Run(self, options) as run:
            for event in run:
                if on_event is not None:
                    on_event(event)
            return run.result

    def history(self) -> dict[str, Any]:
        """All that the server keeps of it."""
        response = self._client.transport.send(self._state.stored())
        return self._state.read_stored(response.content)

    def delete(self) -> None:
        """Delete it from the server."""
        self._client.transport.send(self._state.stored("DELETE"))
        self._state.forget()


class AsyncConversation:
    """A conversation. `id` is known after the first answer, if the server chose it."""

    def __init__(self, client: "AsyncClient", state: ConversationState) -> None:
        self._client = client
        self._state = state

    @property
    def id(self) -> str | None:
        """The conversation's id; None if the server does not keep it, or has not chosen one yet."""
        return self._state.id

    async def chat(
        self,
        messages: Messages = (),
        *,
        model: str | None = None,
        tools: Any = None,
        tool_choice: ToolChoice | None = None,
        stream: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - of one silence, not of the whole
        headers: Mapping[str, str] | None = None,
        **parameters: Any,
    ) -> Any:
        """Send new messages and get the answer: see `Conversation.chat`."""
        if model is None and self._state.needs_model:
            with self._state.may_know_model():
                model = await self._client.default_model()
        sent = self._state.turn(
            messages,
            model=model,
            tools=tools,
            tool_choice=tool_choice,
            stream=stream,
            parameters=parameters,
        )
        response = await self._client.transport.send(sent.outgoing(timeout, headers))
        if stream:
            return AsyncStream(response, self._client.transport.lost, sent.read)
        return sent.took(read_whole(response))

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
        """Let the model use the tools until it answers with text: see `Client.run`."""
        options = RunOptions(
            messages, tools, tool_choice, limits or Limits(), approve, stream, request,
            marks_errors=True,
        )  # fmt: skip
        async with AsyncRun(self, options) as run:
            async for event in run:
                if on_event is not None:
                    on_event(event)
            return await run.result()

    async def history(self) -> dict[str, Any]:
        """All that the server keeps of it."""
        response = await self._client.transport.send(self._state.stored())
        return self._state.read_stored(response.content)

    async def delete(self) -> None:
        """Delete it from the server."""
        await self._client.transport.send(self._state.stored("DELETE"))
        self._state.forget()
