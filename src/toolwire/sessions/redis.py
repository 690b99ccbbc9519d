"""Documents in Redis, which several processes and machines share: one server, or a cluster.

See `redis_scripts` for what is stored, and `redis_keys` for how it is spread.
"""

import asyncio
from collections.abc import Iterable
from itertools import chain
from typing import Any
from uuid import uuid4

from toolwire.errors import GatewayError
from toolwire.sessions import redis_scripts as scripts
from toolwire.sessions.base import Claim, Entry, Key
from toolwire.sessions.redis_client import RedisClient
from toolwire.sessions.redis_keys import document, indexed, indexes, shard_of
from toolwire.sessions.redis_scripts import Script

_LEASE = 5.0
"""How long several documents of a cluster are locked in order to be written together."""


class RedisStore:
    """Keeps documents in Redis."""

    def __init__(self, url: str) -> None:
        self._client = RedisClient(url)

    async def claim(self, key: Key, lease: float, token: str = "") -> Claim:
        """Lock a document, and load it."""
        token = token or uuid4().hex
        given = _milliseconds(lease)
        fence, value = await self._client.run(scripts.CLAIM, document(key), given, nonce=token)
        return Claim(key, int(fence), value, token)

    async def renew(self, claim: Claim, lease: float) -> None:
        """Keep a document locked."""
        given = (claim.token, _milliseconds(lease))
        await self._client.run(scripts.RENEW, document(claim.key), *given)

    async def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        """Write a claimed document and unlock it."""
        await self._write({claim.key: claim.token}, {claim.key: value}, ttl)

    async def release(self, claim: Claim) -> None:
        """Unlock a document, unchanged."""
        await self._client.run(scripts.RELEASE, document(claim.key), claim.token)

    async def get(self, key: Key) -> bytes | None:
        """Read a document."""
        (value,) = await self._client.run(scripts.GET, document(key))
        return None if value is None else bytes(value)

    async def put(self, values: dict[Key, bytes], ttl: float) -> None:
        """Write documents without a claim, all or none."""
        if len(values) < 2 or not await self._client.is_cluster():
            await self._write(dict.fromkeys(values, ""), values, ttl)
            return
        # One script cannot write to several nodes, so all are locked first.
        tokens = {key: uuid4().hex for key in values}
        try:
            for key, token in tokens.items():
                await self.claim(key, _LEASE, token)
            for shard in _by_shard(values):
                await self._write({key: tokens[key] for key in shard}, values, ttl)
        except GatewayError:
            await asyncio.gather(*map(self.release, _claims(tokens)), return_exceptions=True)
            raise

    async def delete(self, key: Key) -> bool:
        """Delete a document."""
        (deleted,) = await self._client.run(scripts.DELETE, indexed(key), key.id)
        return bool(deleted)

    async def list(self, kind: str, owner: str, after: str, limit: int) -> list[Entry]:
        """An owner's documents in the order of their ids."""
        found = await _on_shards(self._client, scripts.LIST, (kind, owner), after, limit)
        pairs = zip(found[::2], found[1::2], strict=True)
        return sorted((_entry(*pair) for pair in pairs), key=lambda entry: entry.id)[:limit]

    async def count(self, kind: str, owner: str) -> int:
        """How many documents an owner has."""
        return sum(await _on_shards(self._client, scripts.COUNT, (kind, owner)))

    async def ping(self) -> None:
        """Claim and release something that nobody has: a replica can be read, but not written."""
        await self.release(await self.claim(Key("ping", "", uuid4().hex), 1.0))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _write(self, tokens: dict[Key, str], values: dict[Key, bytes], ttl: float) -> None:
        """Write documents, each with the token of its claim or with none."""
        if tokens:
            keys = chain.from_iterable(map(indexed, tokens))
            given = chain.from_iterable((key.id, tokens[key], values[key]) for key in tokens)
            await self._client.run(scripts.WRITE, [*keys], _milliseconds(ttl), *given)


async def _on_shards(
    client: RedisClient, script: Script, owner: tuple[str, str], *args: Any
) -> list[Any]:
    """Run a script on all shards of an owner: on all at once, or on a cluster on each."""
    shards = list(indexes(*owner))
    if not await client.is_cluster():
        return await client.run(script, [*chain.from_iterable(shards)], *args)
    found = await asyncio.gather(*(client.run(script, shard, *args) for shard in shards))
    return [*chain.from_iterable(found)]


def _by_shard(keys: Iterable[Key]) -> Iterable[list[Key]]:
    shards: dict[str, list[Key]] = {}
    for key in keys:
        shards.setdefault(shard_of(key), []).append(key)
    return shards.values()


def _claims(tokens: dict[Key, str]) -> Iterable[Claim]:
    return (Claim(key, 0, None, token) for key, token in tokens.items())


def _entry(name: bytes, facts: bytes) -> Entry:
    created, updated, size = map(int, facts.split())
    return Entry(name.decode(), created / 1000, updated / 1000, size)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
