"""A stored conversation: one JSON document, in the format of the native API.

Messages are stored as they were sent and answered, so the API returns them unchanged, and one
reader decodes both requests and stored messages.
"""

import hashlib

import msgspec
from msgspec import Raw

from toolwire.errors import InternalError
from toolwire.surfaces.native import wire
from toolwire.surfaces.native.ids import ToolCallIdMap

KIND = "conversation"
"""The kind of these documents in stores."""
VERSION = 1
_NO_TOOLS = Raw(b"[]")
_MOST_ANSWERS = 8
_ANSWER_BYTES = 256 * 1024
"""Limits on stored answers for retried requests: their number, and their total size."""


class KnownAnswer(msgspec.Struct, array_like=True):
    """The answer to a request with an `Idempotency-Key`."""

    key: str
    fingerprint: str
    answer: Raw


class Session(msgspec.Struct):
    """One conversation. Times are seconds since 1970."""

    version: int
    created: float
    updated: float = 0.0
    model: str = ""
    turns: int = 0
    tools: Raw = _NO_TOOLS
    system: list[Raw] = []
    messages: list[Raw] = []
    ids: dict[str, str] = {}
    answers: list[KnownAnswer] = []

    @property
    def id_map(self) -> ToolCallIdMap:
        """The ids of its calls."""
        return ToolCallIdMap(self.ids)

    @property
    def has_tools(self) -> bool:
        """Whether it has any tools."""
        return self.tools != _NO_TOOLS

    def size(self) -> int:
        """The size of its history and tools, in bytes."""
        said = sum(len(raw) for raw in self.system) + sum(len(raw) for raw in self.messages)
        return said + len(self.tools)

    def known(self, key: str) -> KnownAnswer | None:
        """Return the answer to an earlier request with this key."""
        return next((known for known in self.answers if known.key == key), None)

    def remember(self, answer: KnownAnswer) -> None:
        """Store an answer, and drop the oldest ones beyond the limits."""
        self.answers = [*self.answers, answer][-_MOST_ANSWERS:]
        while len(self.answers) > 1 and sum(len(a.answer) for a in self.answers) > _ANSWER_BYTES:
            self.answers = self.answers[1:]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Session).decode
_decode_messages = msgspec.json.Decoder(list[wire.MessageWire]).decode


def new_session(now: float) -> Session:
    """Return an empty conversation."""
    return Session(VERSION, now, now)


def read_session(document: bytes) -> Session:
    """Decode a stored conversation. Raises `InternalError` if this version cannot read it."""
    try:
        session = _decode(document)
    except msgspec.MsgspecError:
        session = None
    if session is None or session.version != VERSION:
        raise InternalError(
            "This conversation was stored by another version of Toolwire, and cannot be read. "
            "Begin a new one."
        )
    return session


def write_session(session: Session) -> bytes:
    """Encode a conversation for a store."""
    return _encode(session)


def read_messages(raw: list[Raw]) -> list[wire.MessageWire]:
    """Decode stored messages. They were validated before they were stored."""
    return _decode_messages(b"[" + b",".join(map(bytes, raw)) + b"]") if raw else []


def fingerprint(body: bytes) -> str:
    """Return a hash that distinguishes two requests with the same key."""
    return hashlib.sha256(body).hexdigest()[:32]


def minted_id(owner: str, key: str) -> str:
    """Return a deterministic id for a new conversation whose request may be retried."""
    return "conv_" + hashlib.sha256(f"{owner}\0{key}".encode("utf-8", "replace")).hexdigest()[:32]
