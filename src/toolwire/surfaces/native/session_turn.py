"""One turn of a stored conversation: claim and load it, then commit or release it.

A turn that fails, is cut off, or whose client leaves changes nothing.
"""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec
from msgspec import Raw

from toolwire.errors import (
    ClaimLost,
    ConversationBusy,
    ConversationFull,
    IdempotencyKeyReused,
    SessionsOff,
    StoreUnavailable,
)
from toolwire.gateway.answer.collect import Whole
from toolwire.gateway.report import Report
from toolwire.gateway.turn import off_loop
from toolwire.protocol.requests import Request
from toolwire.protocol.tools import NO_TOOLS, ToolSet
from toolwire.sessions.base import Claim, Key, Store
from toolwire.surfaces.native import wire
from toolwire.surfaces.native.reader import Earlier, Incoming
from toolwire.surfaces.native.session import (
    KIND,
    KnownAnswer,
    Session,
    fingerprint,
    new_session,
    read_messages,
    read_session,
    write_session,
)
from toolwire.surfaces.native.wire import ChatResponse

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25
"""Seconds between attempts to claim a busy conversation."""
_encode = msgspec.json.Encoder().encode


class SessionRules(msgspec.Struct, frozen=True):
    """The lifetime and size limits of conversations."""

    ttl: float = 30 * 24 * 3600.0
    max_turns: int = 1000
    max_bytes: int = 8 * 1024 * 1024
    max_conversations: int = 10_000
    """Maximum per API key."""
    lease: float = 30.0
    """Seconds that a turn claims its conversation; renewed while the turn runs."""


class Sessions(msgspec.Struct, frozen=True):
    """The conversations of a server."""

    configured: Store | None
    rules: SessionRules
    now: Callable[[], float]
    read_tools: Callable[[Raw], ToolSet]

    @property
    def store(self) -> Store:
        """The store. Raises `SessionsOff`."""
        if self.configured is None:
            raise SessionsOff(
                "This server keeps no conversations. Leave 'conversation_id' out, and send the "
                "whole history; or ask its operator to configure 'sessions'."
            )
        return self.configured

    def key(self, owner: str, conversation_id: str) -> Key:
        """Return the key of a conversation in the store."""
        return Key(KIND, owner, conversation_id)


class AnswerKnown(Exception):
    """The request was already answered. `answer` is the body of that answer."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


class SessionTurn:
    """The `StoredHistory` of one request. Call `stop` at the end, and `release` if claimed."""

    def __init__(
        self,
        sessions: Sessions,
        key: Key,
        incoming: Incoming,
        *,
        body: bytes,
        idempotency_key: str = "",
        respond: Callable[[Whole, Report], ChatResponse],
    ) -> None:
        self._sessions = sessions
        self._key = key
        self._incoming = incoming
        self._body = body
        self._idempotency_key = idempotency_key
        self._respond = respond
        self._claim: Claim | None = None
        self._session = new_session(sessions.now())
        self._timer: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    @property
    def is_claimed(self) -> bool:
        """Whether the conversation must be released."""
        return self._claim is not None

    async def load(self, _request: Request) -> Request:
        """See `StoredHistory.load`. Raises `AnswerKnown` for a request that was answered before."""
        claim = self._claim = await self._claimed()
        document = claim.value or b""
        size = len(document) + len(self._body)
        request = await off_loop(size, self._composed, document)
        if claim.value is None:
            await self._check_count()
        loop, lease = asyncio.get_running_loop(), self._sessions.rules.lease
        self._timer = loop.call_later(lease / 3, self._start_renewing, claim)
        return request

    def _composed(self, document: bytes) -> Request:
        """Build the request with its history, in a thread if that is slow."""
        if document:
            self._session = read_session(document)
        session = self._session
        self._check_known(session)
        tools = NO_TOOLS
        if session.has_tools and self._incoming.tools_json is None:
            tools = self._sessions.read_tools(session.tools)
        earlier = Earlier(
            read_messages(session.system),
            read_messages(session.messages),
            session.id_map,
            tools,
            session.model,
        )
        request = self._incoming.request(earlier)
        session.ids = dict(earlier.ids.pairs)
        self._check_room(session)
        return msgspec.structs.replace(request, session=self._key.id)

    async def keep(self, request: Request, answer: Whole, report: Report) -> None:
        """See `StoredHistory.keep`."""
        claim = self._claim
        if claim is None:
            return
        response = self._respond(answer, report)
        size = self._session.size() + len(self._body)
        document = await off_loop(size, self._added, request, answer, response)
        self._claim = None
        commit = asyncio.ensure_future(
            self._sessions.store.commit(claim, document, self._sessions.rules.ttl)
        )
        try:
            await asyncio.shield(commit)
        except asyncio.CancelledError:
            # Not interruptible: no other turn may claim the conversation before this ends.
            with contextlib.suppress(ClaimLost, StoreUnavailable):
                await commit
            raise

    def stop(self) -> None:
        """End the turn, and stop renewing the claim."""
        if self._timer is not None:
            self._timer.cancel()
        if self._renewing is not None:
            self._renewing.cancel()

    async def release(self) -> None:
        """Release the conversation unchanged: the turn was not committed."""
        claim, self._claim = self._claim, None
        if claim is not None:
            with contextlib.suppress(StoreUnavailable):  # the claim expires by itself
                await self._sessions.store.release(claim)

    async def _claimed(self) -> Claim:
        """Claim the conversation as soon as it is free."""
        wait: float = self._incoming.fields.get("wait") or 0.0
        clock = asyncio.get_running_loop().time
        until, pause = clock() + wait, _FIRST_PAUSE
        while True:
            try:
                return await self._sessions.store.claim(self._key, self._sessions.rules.lease)
            except ConversationBusy:
                left = until - clock()
                if left <= 0:
                    raise
                await asyncio.sleep(min(pause, left))
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _start_renewing(self, claim: Claim) -> None:
        """Schedule the renewal. Most turns end before it is needed."""
        self._renewing = asyncio.create_task(self._renew(claim))

    async def _renew(self, claim: Claim) -> None:
        lease = self._sessions.rules.lease
        while True:
            try:
                await self._sessions.store.renew(claim, lease)
            except ClaimLost:
                return  # the commit will report it
            except StoreUnavailable:
                pass  # the store may recover before the claim expires
            await asyncio.sleep(lease / 3)

    def _check_known(self, session: Session) -> None:
        known = session.known(self._idempotency_key) if self._idempotency_key else None
        if known is None:
            return
        if known.fingerprint != fingerprint(self._body):
            raise IdempotencyKeyReused(
                "This 'Idempotency-Key' was used for another request of this conversation. Use a "
                "new key for a new request."
            )
        raise AnswerKnown(bytes(known.answer))

    async def _check_count(self) -> None:
        """Check whether the owner may create another conversation."""
        most = self._sessions.rules.max_conversations
        if await self._sessions.store.count(KIND, self._key.owner) >= most:
            raise ConversationFull(
                f"This API key has reached its limit of {most} conversations. Delete some of them, "
                "or wait until they expire."
            )

    def _check_room(self, session: Session) -> None:
        rules = self._sessions.rules
        if session.turns >= rules.max_turns:
            raise ConversationFull(
                f"This conversation has reached its limit of {rules.max_turns} turns. Begin a new "
                "one."
            )
        size = session.size() + len(self._body)
        if size > rules.max_bytes:
            raise ConversationFull(
                f"With this request the conversation would have {size} bytes; at most "
                f"{rules.max_bytes} are allowed. Begin a new one, or send less."
            )

    def _added(self, request: Request, answer: Whole, response: ChatResponse) -> bytes:
        """Return the conversation including this turn, for the store."""
        session, incoming = self._session, self._incoming
        if incoming.instructions:
            session.system = _raw(incoming.instructions)
        message = Raw(_encode(response.choices[0].message))
        session.messages = [*session.messages, *_raw(incoming.said), message]
        if incoming.tools_json is not None:
            session.tools = incoming.tools_json.copy()
        session.ids |= {call.call_id: call.provider_id for call in answer.calls}
        session.model = request.model
        session.turns += 1
        session.updated = self._sessions.now()
        if self._idempotency_key:
            known = fingerprint(self._body)
            answer_json = Raw(_encode(response))
            session.remember(KnownAnswer(self._idempotency_key, known, answer_json))
        return write_session(session)


def _raw(messages: list[wire.MessageWire]) -> list[Raw]:
    return [Raw(_encode(message)) for message in messages]
