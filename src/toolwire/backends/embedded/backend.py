"""The embedded model as a backend.

The engine takes the chat completions of a llama.cpp server, so requests and answers use the same
code as for a server, with a thread instead of a socket.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace

from toolwire.backends.base import (
    DEFAULT_TIMEOUTS,
    BackendRequest,
    BackendTimeouts,
    Capabilities,
    FragmentListener,
)
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.embedded.cached_tokens import CachedTokens
from toolwire.backends.embedded.call_probe import TextOrCall
from toolwire.backends.embedded.engine import EmbeddedEngine
from toolwire.backends.embedded.grammar_check import GrammarCheck
from toolwire.backends.embedded.request import bodies_for, ignored
from toolwire.backends.embedded.tuning import AS_WRITTEN
from toolwire.backends.named_body import NamedBody
from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.errors import Place, ResourceNotFound, ToolsRefused, UpstreamError, UpstreamRefused
from toolwire.protocol.content import text_of
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.requests import Request

_MAX_CHUNK = 8 << 20
_NOTHING = Fragment()


class _Error(msgspec.Struct):
    message: str = ""
    code: int = 500
    type: str = ""
    n_prompt_tokens: int = 0
    n_ctx: int = 0


class _Failure(msgspec.Struct):
    error: _Error | None = None


_decode_failure = msgspec.json.Decoder(_Failure).decode


class EmbeddedAnswer:
    """One answer in progress: generated in the engine's thread, read in the event loop."""

    def __init__(
        self, engine: EmbeddedEngine, outgoing: BackendRequest, check: GrammarCheck
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._decoder = AnswerDecoder(streamed=True, max_line=_MAX_CHUNK)
        self._fragments: list[Fragment] = []
        self._error: UpstreamError | None = None
        self._complete = self._over = self._paused = self._closed = False
        self._cached: int | None = None
        self._outgoing, self._check = outgoing, check
        self._turn = engine.submit(self._make)
        self._turn.add_done_callback(lambda turn: self._post(self._end, turn))

    async def begun(self) -> None:
        """Wait until the engine has accepted the request. Raises `UpstreamError` if it refuses."""
        await self._changed.wait()
        if self._error is not None:
            raise self._error

    async def relay(self, listener: FragmentListener) -> bool:
        """See `Answer.relay`."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._paused:
                continue
            if self._fragments:
                fragments, self._fragments = self._fragments, []
                listener(fragments)
            if self._error is not None:
                raise self._error
            if self._over:
                return self._complete

    def pause(self) -> None:
        """See `Answer.pause`. Output is buffered meanwhile; the model's context limits its size."""
        self._paused = True

    def resume(self) -> None:
        """See `Answer.resume`."""
        self._paused = False
        self._changed.set()

    def close(self) -> None:
        """See `Answer.close`. A waiting turn is cancelled, a running one ends at its next chunk."""
        self._closed = True
        self._turn.cancel()

    # In the engine's thread.

    def _make(self, engine: EmbeddedEngine) -> None:
        if self._closed:
            return
        # In this thread, because narrowing a schema of megabytes takes seconds.
        body = bodies_for(self._outgoing, engine)
        probing, trying = CachedTokens(engine.generate), CachedTokens(engine.generate)
        if isinstance(body, TextOrCall):
            choice, body = body, body.settle(probing, self._is_closed)
            if body is choice.call:
                probing.found.clear()  # another prompt
        if not self._closed:
            self._check.require(body, trying, self._is_closed)
        self._cached = next(iter(probing.found + trying.found), None)
        if not self._closed:
            engine.generate(body.content, self._take)

    def _is_closed(self) -> bool:
        return self._closed

    def _take(self, chunk: bytes) -> bool:
        return self._closed or not self._post(self._arrive, chunk)

    def _post(self, callback: Callable[..., None], *args: Any) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:  # the loop is closed
            return False
        return True

    # In the event loop.

    def _arrive(self, chunk: bytes) -> None:
        self._changed.set()
        error = _decode_failure(chunk).error
        if error is not None:
            self._error = _refusal(error)
            return
        for fragment in self._decoder.feed(b"data: " + chunk + b"\n\n"):
            # Prompt progress and the bare role are not part of the answer.
            if fragment != _NOTHING:
                self._fragments.append(self._counted(fragment))
            # The usage, which is always requested, is the last chunk.
            self._complete |= fragment.usage is not None

    def _counted(self, fragment: Fragment) -> Fragment:
        """Return the fragment with the tokens that were cached before this turn, not by it."""
        usage, cached = fragment.usage, self._cached
        if usage is None or cached is None or cached >= usage.cached_tokens:
            return fragment
        details = {**usage.prompt_details, "cached_tokens": cached}
        return replace(fragment, usage=replace(usage, prompt_details=details))

    def _end(self, turn: "Future[None]") -> None:
        self._over = True
        self._changed.set()
        try:
            turn.result()
        except CancelledError:
            self._error = UpstreamError("The embedded model was stopped.")
        except UpstreamError as error:
            self._error = error
        except (ValueError, RuntimeError) as error:
            # The engine raises if it cannot start. Later failures arrive as chunks.
            self._error = UpstreamRefused(f"The embedded model cannot do this: {error}", status=400)


class EmbeddedBackend:
    """The embedded model. The caller that started the engine closes it."""

    needs_probe = False

    def __init__(
        self, name: str, engine: EmbeddedEngine, timeouts: BackendTimeouts = DEFAULT_TIMEOUTS
    ) -> None:
        self.name = name
        self.engine = engine
        self.capabilities = capabilities_of(engine)
        self.timeouts = timeouts
        self._check = GrammarCheck()
        self._warming: EmbeddedAnswer | None = None

    async def warm_up(self, outgoing: BackendRequest) -> bool:
        """Evaluate a prompt, so that the next one with the same prefix is evaluated faster.

        A turn interrupts it; what was evaluated until then stays cached. Return whether it was
        completed.
        """
        answer = self._warming = EmbeddedAnswer(self.engine, outgoing, self._check)
        try:
            return await answer.relay(lambda _fragments: None)
        except UpstreamError:
            return False  # no client is waiting for it
        finally:
            answer.close()
            self._warming = None

    async def probe(self) -> None:
        """See `Backend.probe`. The engine's capabilities are already known."""

    def ignored(self, request: Request) -> list[str]:
        """See `Backend.ignored`."""
        return ignored(request)

    async def open(self, outgoing: BackendRequest) -> EmbeddedAnswer:
        """See `Backend.open`."""
        if outgoing.tools.tools and not self.engine.has_tools:
            # The engine would silently drop them.
            raise ToolsRefused(
                "The chat template of the embedded model has no tools. "
                'Give its route mode = "auto" or "prompted".'
            )
        self._require_room(outgoing)
        if self._warming is not None:
            self._warming.close()
        answer = EmbeddedAnswer(self.engine, outgoing, self._check)
        try:
            await answer.begun()
        except BaseException:
            answer.close()
            raise
        return answer

    def _require_room(self, outgoing: BackendRequest) -> None:
        """Refuse what cannot fit into the context, before the engine reads megabytes to see it."""
        written = sum(len(text_of(message.content)) for message in outgoing.messages)
        if written > self.engine.most_characters:
            raise _too_long(self.engine.context, f"{written} characters")

    async def forward(self, _method: str, target: str, _body: NamedBody) -> NoReturn:
        """Refuse what is not a chat completion."""
        raise ResourceNotFound(
            f"The embedded model has no '/v1{target[:200]}', only chat completions."
        )

    async def check(self) -> str:
        """See `Backend.check`. A loaded model always works."""
        return "its model has no tool support: tools are prompted"

    async def aclose(self) -> None:
        """See `Backend.aclose`. The caller that started the engine closes it."""

    async def models(self) -> list[str]:
        """See `Backend.models`."""
        return [self.engine.name]


def capabilities_of(engine: EmbeddedEngine) -> Capabilities:
    """Return what is known about the engine's model."""
    return Capabilities(
        name=engine.facts.name,
        template=engine.facts.chat_template,
        # llama.cpp does not enforce a required call, and fails if a model writes calls in an
        # unexpected format. So Toolwire writes the tools and parses the calls itself.
        has_tools=False,
        format=engine.tuning.format,
        one_call=engine.tuning.one_call,
        marks=engine.marks,
        constrains=True,
        # A model that starts calls by itself, in its own format, is not probed.
        chooses=engine.tuning.call_threshold != AS_WRITTEN,
        efforts=DIALECTS["llamacpp"].efforts,
    )


def _refusal(error: _Error) -> UpstreamError:
    """Translate the engine's error for the client."""
    if error.type == "exceed_context_size_error":
        return _too_long(error.n_ctx, f"{error.n_prompt_tokens} tokens")
    if 400 <= error.code < 500:
        return UpstreamRefused(error.message, status=error.code)
    return UpstreamError(f"The embedded model failed: {error.message}")


def _too_long(context: int, written: str) -> UpstreamRefused:
    return UpstreamRefused(
        f"This model's maximum context length is {context} tokens. However, your messages "
        f"resulted in {written}. Shorten them, or give the model a longer context with --ctx.",
        status=400,
        place=Place("messages"),
        code="context_length_exceeded",
    )
