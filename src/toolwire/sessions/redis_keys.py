"""What documents are called in Redis, on one server and on a cluster.

A cluster puts keys with the same text in braces on the same node, and a script may use no others.
An owner's documents are therefore spread over a fixed number of shards by their ids: all keys of a
shard are on one node, with the part of the owner's list that is about them. So a document and its
place in the list change together, and one owner's documents still spread over the cluster.
"""

from collections.abc import Iterator
from urllib.parse import quote
from zlib import crc32

from toolwire.sessions.base import Key

SHARDS = 16
"""Part of the names: with another number, nothing that was stored would be found."""


def document(key: Key) -> list[str]:
    """The keys of a document and its lock."""
    shard = shard_of(key)
    return [f"{shard}:document:{key.id}", f"{shard}:lock:{key.id}"]


def indexed(key: Key) -> list[str]:
    """The keys of a document, its lock, and the index of its shard."""
    return document(key) + _index(shard_of(key))


def shard_of(key: Key) -> str:
    """What all keys of a document's shard begin with."""
    return _shard(key.kind, key.owner, crc32(key.id.encode()) % SHARDS)


def indexes(kind: str, owner: str) -> Iterator[list[str]]:
    """The keys of the index of each shard of an owner."""
    return (_index(_shard(kind, owner, number)) for number in range(SHARDS))


def _index(shard: str) -> list[str]:
    return [f"{shard}:ids", f"{shard}:expiries", f"{shard}:facts"]


def _shard(kind: str, owner: str, number: int) -> str:
    return f"toolwire:{{{quote(kind, safe='')}:{quote(owner, safe='')}:{number:02}}}"
