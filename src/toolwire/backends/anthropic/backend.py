"""A server that speaks Anthropic's Messages API over HTTP."""

from toolwire.backends.anthropic.answer import MessagesDecoder
from toolwire.backends.anthropic.request import encode_request, is_ignored_format
from toolwire.backends.base import Answer, BackendRequest
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.protocol.requests import Request

VERSION = "2023-06-01"


class AnthropicBackend(OpenAiHttpBackend):
    """A server at one base URL. HTTP, errors and the model list work as for OpenAI servers."""

    endpoint = "/messages"
    decoder = MessagesDecoder
    models_path = "/models?limit=1000"
    tells = False
    advice = "Check its base URL, which mostly ends in /v1, and its 'dialect'."

    @classmethod
    def key_headers(cls, key: str | None) -> dict[str, str]:
        """See `OpenAiHttpBackend.key_headers`."""
        known = {} if key is None else {"x-api-key": key}
        return {**known, "anthropic-version": VERSION}

    def ignored(self, request: Request) -> list[str]:
        """See `Backend.ignored`."""
        ignored = super().ignored(request)
        return [*ignored, "response_format"] if is_ignored_format(request) else ignored

    async def open(self, outgoing: BackendRequest) -> Answer:
        """See `Backend.open`."""
        body = encode_request(outgoing, self._dialect, self._model)
        return await self._send(body, stream=outgoing.request.stream)
