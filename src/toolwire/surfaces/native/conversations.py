"""`/native/v1/conversations`: list, read and delete the caller's own conversations."""

import re
from urllib.parse import parse_qs

import msgspec

from toolwire.errors import ConversationNotFound, RequestError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.turn import off_loop
from toolwire.sessions.base import Entry, Key
from toolwire.surfaces.base import send_json
from toolwire.surfaces.exchange import Exchange
from toolwire.surfaces.native.problems import Problems
from toolwire.surfaces.native.session import KIND, Session, read_session
from toolwire.surfaces.native.session_turn import Sessions
from toolwire.surfaces.native.wire import (
    CONVERSATION_ID,
    ConversationEntry,
    ConversationList,
    DeletedConversation,
    StoredConversation,
)

_DEFAULT_PAGE, _LARGEST_PAGE = 20, 100
_DIGITS = re.compile(r"[0-9]{1,9}")
_ID = re.compile(CONVERSATION_ID.replace("$", r"\Z"))
_UNKNOWN = "There is no such conversation: it never existed, has expired, or was deleted."
_encode = msgspec.json.Encoder().encode


class Conversations(msgspec.Struct, frozen=True):
    """The endpoints."""

    sessions: Sessions

    async def list(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer with a page of the caller's conversations, sorted by id."""
        after, limit = _page(exchange)
        owner = context.key_name or ""
        found = await self.sessions.store.list(KIND, owner, after, limit + 1)
        page = [_entry(entry) for entry in found[:limit]]
        last = page[-1].id if page else None
        send_json(exchange, context, ConversationList("list", page, len(found) > limit, last))

    async def show(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer with a stored conversation."""
        key = self._key(exchange, context)
        document = await self.sessions.store.get(key)
        if document is None:
            raise ConversationNotFound(_UNKNOWN)
        session = await off_loop(len(document), read_session, document)
        send_json(exchange, context, self._shown(key.id, session))

    async def delete(self, exchange: Exchange, context: RequestContext) -> None:
        """Delete a conversation."""
        key = self._key(exchange, context)
        if not await self.sessions.store.delete(key):
            raise ConversationNotFound(_UNKNOWN)
        send_json(exchange, context, DeletedConversation(key.id, "conversation", deleted=True))

    def _key(self, exchange: Exchange, context: RequestContext) -> Key:
        name = exchange.request.path.rpartition("/")[2]
        if not _ID.fullmatch(name):
            raise ConversationNotFound(_UNKNOWN)
        return self.sessions.key(context.key_name or "", name)

    def _shown(self, conversation_id: str, session: Session) -> StoredConversation:
        return StoredConversation(
            conversation_id,
            "conversation",
            int(session.created),
            int(session.updated),
            int(session.updated + self.sessions.rules.ttl),
            session.model,
            session.turns,
            session.tools,
            [*session.system, *session.messages],
        )


def _entry(entry: Entry) -> ConversationEntry:
    return ConversationEntry(
        entry.id, "conversation", int(entry.created), int(entry.updated), entry.size
    )


def _page(exchange: Exchange) -> tuple[str, int]:
    """Read `after` and `limit` from the query."""
    query = exchange.request.target.partition(b"?")[2].decode("latin-1")
    try:
        given = parse_qs(query, max_num_fields=16)
    except ValueError:
        raise RequestError("The query has too many parameters.", code="invalid_value") from None
    problems, limit = Problems(), _DEFAULT_PAGE
    text = given.get("limit", [str(limit)])[0]
    if _DIGITS.fullmatch(text) and 1 <= int(text) <= _LARGEST_PAGE:
        limit = int(text)
    else:
        problems.add("limit", f"Invalid 'limit': it must be from 1 to {_LARGEST_PAGE}.")
    after = given.get("after", [""])[0]
    if after and not _ID.fullmatch(after):
        problems.add("after", "Invalid 'after': it must be the id of a conversation.")
    problems.check()
    return after, limit
