"""The client: `chat` for one request, `run` to let the model use functions."""

from collections.abc import Mapping
from typing import Any, Literal, Self, overload

from toolwire.client.answer import Completion
from toolwire.client.base import MODELS, BaseClient, model_names, only_model
from toolwire.client.conversation import Conversation
from toolwire.client.request import Messages, ToolChoice, chat_request
from toolwire.client.running.runner import Run, Runs
from toolwire.client.streaming.stream import Stream, read_whole
from toolwire.client.transport import Transport


class Client(BaseClient[Transport, Run, Conversation], Runs):
    """A client for Toolwire, OpenAI, or any OpenAI-compatible server."""

    _transport = Transport
    _run = Run
    _conversation = Conversation

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
        outgoing = chat_request(
            messages,
            model or self.default_model(),
            tools=tools,
            tool_choice=tool_choice,
            stream=stream,
            timeout=timeout,
            headers=headers,
            parameters=parameters,
        )
        response = self.transport.send(outgoing)
        return Stream(response, self.transport.lost) if stream else read_whole(response)

    def models(self) -> list[str]:
        """Return the names of the server's models."""
        return model_names(self.transport.send(MODELS).content)

    def default_model(self) -> str:
        """Return the default model."""
        if self._model is None:
            self._model = only_model(self.models())
        return self._model

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
