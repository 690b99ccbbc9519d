"""Runs scripts on Redis: one server, or a cluster. It connects at the first one.

Whether it is a cluster is asked then. Nothing is tried twice: a script that was sent may have run.
"""

import asyncio
from typing import Any
from uuid import uuid4

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, NoScriptError, RedisError

from toolwire.errors import StoreUnavailable
from toolwire.sessions.base import busy, lost
from toolwire.sessions.redis_scripts import Script

_SECONDS = 3.0
"""How long to wait for an answer or a connection. Callers are told earlier: see `guard`."""
_AT_ONCE = 32
"""Scripts that one process runs at once. The others wait in their order: the pool of redis-py would
let newcomers go first, and a claim that nobody renews in time is lost."""
_REFUSALS = {b"busy": busy, b"lost": lost}
_OPTIONS: dict[str, Any] = {
    "max_connections": 2 * _AT_ONCE,
    "socket_timeout": _SECONDS,
    "socket_connect_timeout": _SECONDS,
    "retry": Retry(NoBackoff(), 0),
    "protocol": 2,
}


class RedisClient:
    """A connected client, or one that connects when it is used."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: Redis | RedisCluster | None = None
        self._connecting = asyncio.Lock()
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def run(self, script: Script, keys: list[str], *args: Any, nonce: str = "") -> list[Any]:
        """Run a script, and return what it found."""
        nonce = nonce or uuid4().hex
        client = await self._connected()
        try:
            async with self._room:
                answer = await _evaluate(client, script, keys, nonce, *args)
        except (RedisError, OSError) as error:
            raise _unavailable(error) from error
        if answer[0] != nonce.encode():
            await self.aclose()
            raise StoreUnavailable("Redis gave the answer to another request")
        if answer[1] in _REFUSALS:
            raise _REFUSALS[answer[1]]()
        return list(answer[2:])

    async def is_cluster(self) -> bool:
        """Whether a script can use only keys of one shard."""
        return isinstance(await self._connected(), RedisCluster)

    async def aclose(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _connected(self) -> Redis | RedisCluster:
        if self._client is not None:
            return self._client
        async with self._connecting:
            if self._client is None:
                try:
                    self._client = await _connect(self._url)
                except (RedisError, OSError) as error:
                    raise _unavailable(error) from error
            return self._client


async def _connect(url: str) -> Redis | RedisCluster:
    """A client of one server, or of the cluster that it belongs to."""
    client = Redis.from_pool(ConnectionPool.from_url(url, **_OPTIONS))
    try:
        if not await _is_cluster(client):
            return client
    except BaseException:
        await client.aclose()
        raise
    await client.aclose()
    cluster = RedisCluster.from_url(url, **_OPTIONS)
    return await cluster.initialize()


async def _is_cluster(client: Redis) -> bool:
    try:
        return bool((await client.info("cluster")).get("cluster_enabled"))
    except NoPermissionError:
        return False


async def _evaluate(
    client: Redis | RedisCluster, script: Script, keys: list[str], *args: Any
) -> Any:
    given = (len(keys), *keys, *args)
    try:
        return await client.execute_command("EVALSHA", script.sha, *given)
    except NoScriptError:  # the first time, and after Redis was restarted
        return await client.execute_command("EVAL", script.text, *given)


def _unavailable(error: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"Redis: {error}" if str(error) else f"Redis: {type(error).__name__}")
