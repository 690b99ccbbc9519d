"""A server that speaks the OpenAI API over HTTP."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from toolwire.backends.base import (
    DEFAULT_TIMEOUTS,
    UNKNOWN,
    Answer,
    BackendRequest,
    BackendTimeouts,
    CapabilityProbe,
    Redact,
    clip,
)
from toolwire.backends.body_decoder import BodyDecoder
from toolwire.backends.dialects import DIALECTS, Dialect
from toolwire.backends.http import Connection, Head, HttpPool
from toolwire.backends.named_body import NamedBody
from toolwire.backends.openai import llamacpp
from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.backends.openai.detection import AUTO, detect
from toolwire.backends.openai.http_answers import OpenAiHttpAnswer, RawHttpAnswer
from toolwire.backends.openai.params import ignored_params, ignored_parts
from toolwire.backends.openai.refusal import refusal
from toolwire.backends.openai.request import encode_body
from toolwire.backends.tokenizers import read_count, tokenize_body
from toolwire.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from toolwire.protocol.requests import Request


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


_log = logging.getLogger("toolwire.backends")
_decode_models = msgspec.json.Decoder(_Models)
_MAX_ERROR_BODY = 64 * 1024
_MAX_FETCHED = 8 << 20
_PROBE_TIMEOUT = 5.0
_REMEMBERED = 600.0
"""Seconds between probes of a server: its model may have changed."""
_REMEMBERED_UNKNOWN = 60.0
"""Seconds between probes of a server that was not identified: it may not have been up."""
_REMEMBERED_MISS = 10.0
"""Seconds between probes of a server that answers turns, but fails when probed."""
_MOST_REPORTED = 1024
_NO_ENDPOINT = ("not found", "not allowed", "refused the request", "invalid url", "no route")
"""Messages for a path that does not exist. "Refused" is our own text for an empty message."""


class OpenAiHttpBackend:
    """A server at one base URL, with one dialect. `redact` masks keys in the server's messages.

    The dialect `auto` is replaced once the server's kind is detected; `adapt` then applies the
    configured changes.
    """

    endpoint = "/chat/completions"
    decoder: type[BodyDecoder] = AnswerDecoder
    models_path = "/models"
    tells = True
    """Whether to probe a server; False if its capabilities are known already."""
    advice = (
        "Check its base URL, which usually ends in /v1; if it has only /completions, give it the "
        "model's chat template with 'chat_template' (--chat-template)."
    )
    knows = UNKNOWN
    """What is known about the model before the server is probed."""

    def __init__(
        self,
        name: str,
        pool: HttpPool,
        dialect: Dialect,
        *,
        model: str | None = None,
        headers: Mapping[str, str] | None = None,
        max_line: int = 8 << 20,
        max_answer: int = 64 << 20,
        timeouts: BackendTimeouts = DEFAULT_TIMEOUTS,
        redact: Redact = clip,
        adapt: Callable[[Dialect], Dialect] = lambda dialect: dialect,
    ) -> None:
        self.name = name
        self.pool = pool
        self.timeouts = timeouts
        self.capabilities = self.knows
        self._speak(dialect)
        self._adapt = adapt
        self._detects = dialect.name == AUTO
        self._detected = ""
        self._told_unknown = False
        self._reported: set[tuple[str, str]] = set()
        self._model = model
        self._headers = {**(headers or {}), "accept-encoding": "identity"}
        self._heads = {
            stream: self._head("POST", self.endpoint, "application/json", accept)
            for stream, accept in ((True, "text/event-stream"), (False, "application/json"))
        }
        self._max_line = max_line
        self._max_answer = max_answer
        self._redact = redact
        self.needs_probe = self._detects or (self.tells and dialect.probe is not None)
        self._met_until = 0.0
        self._meeting = asyncio.Lock()
        self._missed = 0

    @classmethod
    def key_headers(cls, key: str | None) -> dict[str, str]:
        """Return the headers with our key, if there is one."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def _speak(self, dialect: Dialect) -> None:
        """Use this dialect for requests from now on."""
        self._dialect = dialect
        self._probe = dialect.probe
        efforts = dialect.efforts if "reasoning_effort" in dialect.params else ()
        self.capabilities = replace(
            self.capabilities, constrains=dialect.constraint != "none", efforts=efforts
        )

    async def probe(self) -> None:
        """See `Backend.probe`."""
        missed = self._missed
        async with self._meeting:
            if not self.needs_probe or self._missed > missed:
                return  # another task probed it, or failed to, in the meantime
            try:
                async with asyncio.timeout(_PROBE_TIMEOUT):
                    if self._detects:
                        await self._detect()
                    if self.tells and self._probe is not None:
                        await self._ask_capabilities(self._probe)
            except UpstreamUnavailable:
                self._missed += 1
                self._met_until = asyncio.get_running_loop().time() + _REMEMBERED_MISS
                return  # the turn will most likely fail, too
            except (UpstreamError, TimeoutError, ValueError):
                pass  # another kind of server, or one that does not report it
            self.needs_probe = False
            remembered = _REMEMBERED_UNKNOWN if self._detects else _REMEMBERED
            self._met_until = asyncio.get_running_loop().time() + remembered

    async def _detect(self) -> None:
        """Detect the server's dialect."""
        found = await detect(self._fetch, lambda path: self._fetch(path, self.pool.origin.root))
        self._detects = found is None
        if found is None or found.dialect == AUTO:
            if not self._told_unknown:
                self._told_unknown = True
                _log.info("backend %s could not be identified: dialect openai", self.name)
            return
        self._detected = f"dialect {found.dialect}, {found.why}"
        _log.info("backend %s: %s", self.name, self._detected)
        self._speak(self._adapt(DIALECTS[found.dialect]))

    async def _ask_capabilities(self, probe: CapabilityProbe) -> None:
        told = probe.read(await self._fetch(probe.path, self.pool.origin.root))
        known = self.capabilities
        self.capabilities = replace(told, constrains=known.constrains, efforts=known.efforts)

    def _notice(self, head: Head) -> None:
        """Probe an unknown server, or one that identifies as llama.cpp, from time to time."""
        noticed = self.tells and head.headers.get(b"server") == llamacpp.SERVER
        if noticed:
            self._probe = self._probe or llamacpp.PROBE
        if noticed or self._detects or self._missed:
            self.needs_probe = asyncio.get_running_loop().time() >= self._met_until

    def ignored(self, request: Request) -> list[str]:
        """See `Backend.ignored`."""
        ignored = ignored_params(request, self._dialect)
        if ignored and not self.needs_probe:
            self._report(request.model, ignored)
        return ignored + ignored_parts(request, self._dialect)

    def _report(self, model: str, ignored: list[str]) -> None:
        """Log the parameters that are not sent, once per model."""
        for name in ignored:
            if (model, name) in self._reported or len(self._reported) >= _MOST_REPORTED:
                continue
            self._reported.add((model, name))
            _log.warning(
                "backend %s is not sent '%s' for the model %s: the dialect %s does not take it "
                "(params_add)",
                self.name,
                self._redact(name, 100),
                self._redact(model, 100),
                self._dialect.name,
            )

    def open(self, outgoing: BackendRequest) -> Coroutine[Any, Any, Answer]:
        """See `Backend.open`."""
        body = encode_body(outgoing, self._dialect, self._model)
        return self._send(body, stream=outgoing.request.stream)

    async def _send(
        self,
        body: Sequence[bytes],
        *,
        stream: bool,
        head: bytes = b"",
        decoder: BodyDecoder | None = None,
    ) -> OpenAiHttpAnswer:
        connection = await self.pool.send(head or self._heads[stream], body)
        try:
            if connection.head.status != 200:
                raise self._without_endpoint(await self._refusal(connection))
            self._notice(connection.head)
            kind = connection.head.headers.get(b"content-type", b"")
            streamed = kind.find(b"event-stream") >= 0  # `in` raises an exception within Python
            decoder = decoder or self.decoder(
                max_line=self._max_line, streamed=streamed, redact=self._redact
            )
            return OpenAiHttpAnswer(self.pool, connection, decoder, self._max_answer)
        except BaseException:
            connection.abort()
            raise

    def _without_endpoint(self, error: UpstreamError) -> UpstreamError:
        """Say what to do about a server that has no such endpoint, rather than no such model.

        Some servers use 404 for a model without tools, so other messages are not changed.
        """
        words = error.message.casefold()
        lacks = "model" not in words and any(said in words for said in _NO_ENDPOINT)
        if error.status in (404, 405) and lacks:
            error.message = f"The backend '{self.name}' has no {self.endpoint}. {self.advice}"
        return error

    async def forward(self, method: str, target: str, body: NamedBody) -> "RawHttpAnswer":
        """Send any other request below the base URL, under the configured model name.

        The answer is not inspected, except for errors, which may contain our key.
        """
        headers = {**self._headers, "accept": "*/*"}
        if body.kind:
            headers["content-type"] = body.kind
        head = self.pool.head(method, target, headers)
        return await self._raw(head, body.under(self._model or body.model if body.kind else None))

    async def _raw(self, head: bytes, body: Sequence[bytes] = ()) -> "RawHttpAnswer":
        timeouts = self.timeouts
        try:
            async with asyncio.timeout(timeouts.first_token):
                connection = await self.pool.send(head, body)
                if connection.head.status >= 300:
                    try:
                        raise await self._refusal(connection)
                    finally:
                        self.pool.release(connection)
        except TimeoutError:
            text = f"The backend '{self.name}' gave no answer within {timeouts.first_token:g} s."
            raise UpstreamTimeout(text) from None
        self._notice(connection.head)
        return RawHttpAnswer(self.pool, connection, timeouts.idle)

    async def _fetch(self, target: str, base: str | None = None) -> bytes:
        """Fetch the whole content of a path."""
        headers = {**self._headers, "accept": "application/json"}
        return await self._read(self.pool.head("GET", target, headers, base=base), target)

    @property
    def tokenizes(self) -> bool:
        """Whether the server is known to count tokens."""
        return self._dialect.tokenizes

    async def tokenize(self, text: str, model: str) -> int:
        """Return the server's token count of a text. Raises `UpstreamError`."""
        headers = {**self._headers, "content-type": "application/json"}
        head = self.pool.head("POST", "/tokenize", headers, base=self.pool.origin.root)
        body = tokenize_body(text, self._model or model)
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT):  # the client waits for its last event
                return read_count(await self._read(head, "/tokenize", [body]))
        except (msgspec.MsgspecError, TimeoutError, ValueError, RecursionError):
            raise UpstreamError(f"The backend '{self.name}' does not count tokens.") from None

    async def _read(self, head: bytes, target: str, body: Sequence[bytes] = ()) -> bytes:
        answer = await self._raw(head, body)
        told = bytearray()

        def read(block: bytes) -> None:
            told.extend(block)
            if len(told) > _MAX_FETCHED:
                raise UpstreamError(f"The backend '{self.name}' has too much at {target}.")

        try:
            await answer.relay(read)
        finally:
            answer.close()
        return bytes(told)

    def _head(self, method: str, target: str, kind: str, accept: str, **more: str) -> bytes:
        headers = {**self._headers, "content-type": kind, "accept": accept, **more}
        return self.pool.head(method, target, headers)

    async def check(self) -> str:
        """See `Backend.check`."""
        self.needs_probe = self.needs_probe or self._detects
        if self.needs_probe:
            await self.probe()
        has_tools = self.capabilities.has_tools
        about = [self._detected, "" if has_tools else "its model has no tools: they are prompted"]
        return "; ".join(filter(None, about))

    async def aclose(self) -> None:
        """See `Backend.aclose`."""
        self.pool.close()

    async def models(self) -> list[str]:
        """Return the names of the models that the server lists."""
        told = await self._fetch(self.models_path)
        try:
            return [model.id for model in _decode_models.decode(told).data]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise UpstreamError(f"The backend '{self.name}' gave no list of models.") from None

    async def _refusal(self, connection: Connection) -> UpstreamError:
        """Translate the server's error response for the client."""
        head = connection.head
        blocks: list[bytes] = []
        room = _MAX_ERROR_BODY

        def read(block: bytes) -> None:
            nonlocal room
            room -= len(block)
            if room >= 0:
                blocks.append(block)

        await connection.relay(read)
        return refusal(self.name, head, b"".join(blocks), self._redact)
