"""`POST /native/v1/chat`."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from toolwire.errors import GatewayError, RequestError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.turn import StoredHistory, TurnService
from toolwire.protocol.requests import Request
from toolwire.protocol.tools import AssistantCall
from toolwire.surfaces.base import SurfaceCaller, error_headers
from toolwire.surfaces.exchange import JSON, STREAM, Exchange, Headers
from toolwire.surfaces.native.answer import AnswerHead, encode_event, replayed
from toolwire.surfaces.native.call_map import HEADER, CallMapSigner, InvalidCallMap, SignedMap
from toolwire.surfaces.native.errors import error_body
from toolwire.surfaces.native.ids import ToolCallIdMap
from toolwire.surfaces.native.reader import Earlier, Incoming, NativeRequestReader
from toolwire.surfaces.native.session import minted_id
from toolwire.surfaces.native.session_turn import AnswerKnown, Sessions, SessionTurn
from toolwire.surfaces.native.sinks import (
    CONVERSATION,
    AnswerContext,
    NativeSink,
    NativeStreamSink,
    NativeWholeSink,
)
from toolwire.surfaces.native.wire import NEW, AnswerWarning

IDEMPOTENCY_KEY = b"idempotency-key"
LONGEST_KEY = 255
_CALL_MAP = HEADER.encode()
_REPLAYED = ("toolwire-replayed", "true")
_NOT_OURS = (
    f"Invalid header '{HEADER}': it was not signed by this server for this API key. Send it back "
    "as it was given, or leave it out."
)
_KEY_IGNORED = AnswerWarning(
    "idempotency_key_ignored",
    "An 'Idempotency-Key' needs a conversation: without one, nothing is kept to answer from.",
    "Idempotency-Key",
)


class NativeChat(msgspec.Struct, frozen=True):
    """The endpoint. It keeps no state of requests."""

    reader: NativeRequestReader
    turns: TurnService
    sessions: Sessions
    signer: CallMapSigner
    new_id: Callable[[str], str]
    now: Callable[[], float]
    """Seconds since 1970."""

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer one request."""
        caller = NativeCaller(self, exchange, context)
        try:
            await self.turns.answer(caller, context)
        except AnswerKnown as known:
            _replay(exchange, context, caller, known.answer)
        except GatewayError as error:
            headers = [*context.headers(), *error_headers(error)]
            context.error = error.code
            exchange.respond(error.status, headers, error_body(error, caller.origins))
        finally:
            await caller.release()

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        """See `ErrorWriter.error`."""
        return error_headers(error), error_body(error)


class NativeCaller(SurfaceCaller):
    """One request."""

    surface = "native_chat"

    def __init__(self, api: NativeChat, exchange: Exchange, context: RequestContext) -> None:
        super().__init__(exchange, context)
        self._api = api
        self._owner = context.key_name or ""
        self._incoming: Incoming | None = None
        self._signed: SignedMap | None = None
        self._sink: NativeSink | None = None
        self._conversation: SessionTurn | None = None
        self._conversation_id: str | None = None
        self._warnings: list[AnswerWarning] = []

    @property
    def conversation(self) -> StoredHistory | None:
        """See `Caller.conversation`."""
        return self._conversation

    @property
    def origins(self) -> Sequence[str]:
        """The origin of each message of the history."""
        return self._incoming.origins if self._incoming is not None else ()

    @property
    def conversation_id(self) -> str | None:
        """The conversation, if there is one."""
        return self._conversation_id

    @property
    def streams(self) -> bool:
        """Whether the client wants a stream."""
        return self._incoming is not None and bool(self._incoming.fields.get("stream"))

    def read(self) -> Request:
        """See `Caller.read`. In a conversation, `load` makes the request."""
        incoming = self._incoming = self._api.reader.read(self.body)
        key = self._idempotency_key(incoming)
        conversation_id = incoming.conversation_id
        if conversation_id is None:
            if key:
                self._warnings.append(_KEY_IGNORED)
            return incoming.request(self._earlier(incoming))
        if conversation_id == NEW:
            conversation_id = minted_id(self._owner, key) if key else self._api.new_id("conv_")
        self._conversation_id = conversation_id
        sessions = self._api.sessions
        self._conversation = SessionTurn(
            sessions,
            sessions.key(self._owner, conversation_id),
            incoming,
            body=self.body,
            idempotency_key=key,
            respond=lambda whole, report: self._made().make(whole, report),
        )
        return Request(incoming.fields.get("model") or "", ())

    def sink(self, plan: Plan) -> NativeSink:
        """See `Caller.sink`."""
        api = self._api
        head = AnswerHead(
            api.new_id("chatcmpl-"),
            int(api.now()),
            plan.request.model,
            self._conversation_id,
            self._warnings,
        )
        about = AnswerContext(head, self.origins, self._call_map)
        kind = NativeStreamSink if plan.request.stream else NativeWholeSink
        self._sink = kind(self.exchange, self.context, plan, about)
        return self._sink

    async def release(self) -> None:
        """Release the conversation at the end of the request, even during cancellation."""
        # Both refer back to this caller, and would keep its body until the next collection.
        conversation, self._conversation, self._sink = self._conversation, None, None
        if conversation is None:
            return
        conversation.stop()
        if conversation.is_claimed:
            await asyncio.shield(asyncio.ensure_future(conversation.release()))

    def _made(self) -> NativeSink:
        assert self._sink is not None, "a turn is kept after its sink was made"  # noqa: S101
        return self._sink

    def _idempotency_key(self, incoming: Incoming) -> str:
        key = self.exchange.request.header(IDEMPOTENCY_KEY)
        if len(key) > LONGEST_KEY:
            text = f"Invalid header 'Idempotency-Key': it has more than {LONGEST_KEY} characters."
            incoming.problems.add("Idempotency-Key", text, "string_above_max_length")
        return key

    def _earlier(self, incoming: Incoming) -> Earlier:
        """Return the ids of a history sent by the client: from its map, or else by position."""
        value = self.exchange.request.header(_CALL_MAP)
        if not value:
            return Earlier()
        try:
            signed = self._signed = self._api.signer.read(value, self._owner)
        except InvalidCallMap:
            incoming.problems.take([RequestError(_NOT_OURS, param=HEADER, code="invalid_call_map")])
            return Earlier()
        return Earlier(ids=signed.ids, known_only=not signed.truncated)

    def _call_map(self, calls: Sequence[AssistantCall]) -> str | None:
        """Return the map for the next request: the calls of this history and of this answer."""
        if self._conversation is not None:
            return None
        known = self._signed.ids if self._signed is not None else ToolCallIdMap()
        said = [c.call_id for m in self._made().plan.request.messages for c in m.calls]
        ids = known.only(said)
        for call in calls:
            ids.add(call.call_id, call.provider_id)
        if not len(ids):
            return None
        truncated = self._signed is not None and self._signed.truncated
        left_out = len(said) > len(known.only(said))
        signed = SignedMap(ids, truncated=truncated or left_out)
        return self._api.signer.write(signed, self._owner)


def _replay(
    exchange: Exchange, context: RequestContext, caller: NativeCaller, answer: bytes
) -> None:
    """Replay the stored answer to the same request."""
    headers = [*context.headers(), _REPLAYED, (CONVERSATION, caller.conversation_id or "")]
    if not caller.streams:
        exchange.respond(200, [*headers, JSON], answer)
        return
    exchange.start(200, [*headers, *STREAM])
    exchange.end(b"".join(map(encode_event, replayed(answer))))
