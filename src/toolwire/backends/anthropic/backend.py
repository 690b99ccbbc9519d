"""A server that speaks Anthropic's Messages API over HTTP."""

from collections.abc import Mapping
from typing import Any

import msgspec

from toolwire.backends.anthropic.answer import MessagesDecoder
from toolwire.backends.anthropic.own import HEADERS, WIRE, own_request
from toolwire.backends.anthropic.request import encode_count, encode_request, is_ignored_format
from toolwire.backends.base import Answer, BackendRequest, Capabilities
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.backends.tokenizers import Count
from toolwire.errors import UpstreamError
from toolwire.protocol.lru import ByteLru
from toolwire.protocol.requests import Request

VERSION = "2023-06-01"
_KEPT_HEADS = 1 << 20
"""Bytes of the heads that are kept: a client's own headers may have 64 KiB."""
_COUNT = "/messages/count_tokens"


class _Counted(msgspec.Struct):
    input_tokens: Count


_read_count = msgspec.json.Decoder(_Counted).decode


class AnthropicBackend(OpenAiHttpBackend):
    """A server at one base URL. HTTP, errors and the model list work as for OpenAI servers."""

    endpoint = "/messages"
    decoder = MessagesDecoder
    models_path = "/models?limit=1000"
    tells = False
    knows = Capabilities(wire=WIRE, own_calls=True)
    advice = "Check its base URL, which usually ends in /v1, and its 'dialect'."

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._own_heads: ByteLru[tuple[bool, tuple[tuple[str, str], ...]], bytes]
        self._own_heads = ByteLru(_KEPT_HEADS)

    @classmethod
    def key_headers(cls, key: str | None) -> dict[str, str]:
        """See `OpenAiHttpBackend.key_headers`."""
        known = {} if key is None else {"x-api-key": key}
        return {**known, "anthropic-version": VERSION}

    def ignored(self, request: Request) -> list[str]:
        """See `Backend.ignored`."""
        if own_request(request) is not None:
            return []
        ignored = super().ignored(request)
        return [*ignored, "response_format"] if is_ignored_format(request) else ignored

    async def open(self, outgoing: BackendRequest) -> Answer:
        """See `Backend.open`."""
        body = encode_request(outgoing, self._dialect, self._model)
        own, stream = own_request(outgoing.request), outgoing.request.stream
        if own is None:
            return await self._send(body, stream=stream)
        head = self._own_head(own.headers, stream=stream)
        decoder = MessagesDecoder(max_line=self._max_line, redact=self._redact, own=True)
        return await self._send(body, stream=stream, head=head, decoder=decoder)

    async def count_prompt(self, outgoing: BackendRequest) -> int:
        """See `PromptCounter.count_prompt`."""
        own = own_request(outgoing.request)
        given = {} if own is None else own.headers
        headers = {name: given[name] for name in HEADERS if name in given}
        head = self._head("POST", _COUNT, "application/json", "application/json", **headers)
        body = encode_count(outgoing, self._dialect, self._model)
        try:
            return _read_count(await self._read(head, _COUNT, body)).input_tokens
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise UpstreamError(f"The backend '{self.name}' does not count tokens.") from None

    def _own_head(self, given: Mapping[str, str], *, stream: bool) -> bytes:
        """Return the head of a request with the client's own headers."""
        headers = tuple((name, given[name]) for name in HEADERS if name in given)
        key = (stream, headers)
        head = self._own_heads.get(key)
        if head is None:
            accept = "text/event-stream" if stream else "application/json"
            head = self._head("POST", self.endpoint, "application/json", accept, **dict(headers))
            self._own_heads.put(key, head, 2 * len(head))
        return head
