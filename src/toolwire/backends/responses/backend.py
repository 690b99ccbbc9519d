"""A server that speaks OpenAI's Responses API over HTTP."""

from toolwire.backends.base import Answer, BackendRequest, Capabilities
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.backends.responses.answer import ResponsesDecoder
from toolwire.backends.responses.request import (
    WIRE,
    encode_request,
    is_ignored_format,
    is_ignored_reasoning,
)
from toolwire.protocol.requests import Request


class ResponsesBackend(OpenAiHttpBackend):
    """A server at one base URL. HTTP, errors and the model list work as for chat completions."""

    endpoint = "/responses"
    decoder = ResponsesDecoder
    tells = False
    knows = Capabilities(wire=WIRE)
    advice = "Check its base URL, which usually ends in /v1, and its 'dialect'."

    def ignored(self, request: Request) -> list[str]:
        """See `Backend.ignored`."""
        ignored = super().ignored(request)
        if "reasoning_content" in ignored and not is_ignored_reasoning(request):
            ignored.remove("reasoning_content")
        return [*ignored, "response_format"] if is_ignored_format(request) else ignored

    async def open(self, outgoing: BackendRequest) -> Answer:
        """See `Backend.open`."""
        body = encode_request(outgoing, self._dialect, self._model)
        return await self._send(body, stream=outgoing.request.stream)
