"""Conversations of Toolwire's native API: the server keeps the history, or the client does.

Only new messages are sent. Calls are complete and valid, and a result can flag that its tool
failed. An invalid call that could not be repaired raises `BadRequest` with status 422.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from toolwire.client.conversation_state import ConversationState
from toolwire.client.request import Messages, ToolChoice
from toolwire.client.running.runner import AsyncRuns, Runs
from toolwire.client.streaming.stream import AsyncStream, Stream, read_whole

if TYPE_CHECKING:
    from toolwire.client.async_client import AsyncClient
    from toolwire.client.client import Client


class _Conversation:
    """The base of both conversations."""

    _client: Any
    _marks_errors: ClassVar[bool] = True

    def __init__(self, client: Any, state: ConversationState) -> None:
        self._client = client
        self._state = state

    @property
    def id(self) -> str | None:
        """The conversation's id; None if the server does not keep it, or has not chosen one yet."""
        return self._state.id


class Conversation(_Conversation, Runs):
    """A conversation. `id` is known after the first answer, if the server chose it."""

    _client: "Client"

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

    def history(self) -> dict[str, Any]:
        """All that the server keeps of it."""
        response = self._client.transport.send(self._state.stored())
        return self._state.read_stored(response.content)

    def delete(self) -> None:
        """Delete it from the server."""
        self._client.transport.send(self._state.stored("DELETE"))
        self._state.forget()


class AsyncConversation(_Conversation, AsyncRuns):
    """A conversation. `id` is known after the first answer, if the server chose it."""

    _client: "AsyncClient"

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
        """Send new messages and get the answer: a `Completion`, or an `AsyncStream`.

        `tool_results=[{"tool_call_id": ..., "content": ..., "is_error": ...}]` answers calls, and
        `wait=SECONDS` waits for another turn of the same conversation to end.
        """
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

    async def history(self) -> dict[str, Any]:
        """All that the server keeps of it."""
        response = await self._client.transport.send(self._state.stored())
        return self._state.read_stored(response.content)

    async def delete(self) -> None:
        """Delete it from the server."""
        await self._client.transport.send(self._state.stored("DELETE"))
        self._state.forget()
