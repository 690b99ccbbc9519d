"""What every store can do: keep documents for their owners, one writer at a time.

The content of a document is opaque to the store. A document belongs to one owner (an
API key's name, or the empty string where there are no keys), and nobody else can read, list or
delete it: to others it does not exist.

A turn of a conversation takes two steps, each one round trip: `claim` locks the document and loads
it, `commit` writes it and unlocks it. A claim expires, so that a process that dies locks nothing
forever, and a claim that has expired can no longer be committed. A document that does not exist
can be claimed too: that is how it begins.

Every method raises `StoreUnavailable` within about a second if the store does not answer.
"""

from typing import Protocol

import msgspec

from toolwire.errors import ClaimLost, ConversationBusy


class Key(msgspec.Struct, frozen=True):
    """The name of a document: what kind it is, who owns it, and its id."""

    kind: str
    owner: str
    id: str


class Claim(msgspec.Struct, frozen=True):
    """A locked document, and what was in it; None if there was none.

    `fence` is greater than that of every earlier claim of the document.
    """

    key: Key
    fence: int
    value: bytes | None
    token: str


class Entry(msgspec.Struct, frozen=True):
    """A document in a list: times are seconds since 1970."""

    id: str
    created: float
    updated: float
    size: int


class Store(Protocol):
    """Keeps documents.

    Each lives for `ttl` seconds from when it was last written, and as long as it is claimed.
    """

    async def claim(self, key: Key, lease: float, token: str = "") -> Claim:
        """Lock a document for `lease` seconds, and load it. Raises `ConversationBusy`.

        `token` names the claim, for a caller that wants to release it even if it never hears of it.
        """
        ...

    async def renew(self, claim: Claim, lease: float) -> None:
        """Keep a document locked. Raises `ClaimLost`."""
        ...

    async def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        """Write a claimed document and unlock it. Raises `ClaimLost`: nothing was written."""
        ...

    async def release(self, claim: Claim) -> None:
        """Unlock a document, unchanged. Does nothing if the claim was lost or committed."""
        ...

    async def get(self, key: Key) -> bytes | None:
        """Read a document, locked or not, without extending its life."""
        ...

    async def put(self, values: dict[Key, bytes], ttl: float) -> None:
        """Write documents without a claim, all or none. Raises `ConversationBusy`.

        Some of several may have been written if a Redis cluster becomes unavailable meanwhile.
        """
        ...

    async def delete(self, key: Key) -> bool:
        """Delete a document; False if there was none. Raises `ConversationBusy`."""
        ...

    async def list(self, kind: str, owner: str, after: str, limit: int) -> list[Entry]:
        """An owner's documents in the order of their ids, from behind the id `after`."""
        ...

    async def count(self, kind: str, owner: str) -> int:
        """How many documents an owner has."""
        ...

    async def ping(self) -> None:
        """Raise `StoreUnavailable` if the store does not answer."""
        ...

    async def aclose(self) -> None:
        """Close connections and files."""
        ...


def busy() -> ConversationBusy:
    """What a caller is told while a document is claimed."""
    return ConversationBusy(
        "Another request of this conversation is being answered. Wait for it, and try again."
    )


def lost() -> ClaimLost:
    """What a caller is told whose claim has expired."""
    return ClaimLost(
        "The answer took so long that another request of this conversation may have begun. "
        "It was not stored: send the request again."
    )
