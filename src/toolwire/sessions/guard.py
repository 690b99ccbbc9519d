"""Limits how long callers wait for a store.

A store that answers no request for a second is down. Waiting callers get an error, and new ones are
refused immediately. The store is pinged in the background until it answers again.

The second is counted in ticks of the event loop, and restarts with every answer. So a process that
is late itself, or that sends more than the store can answer at once, does not blame the store.

A claim may have been granted although its answer never arrived. It is released as soon as the store
answers, so that the conversation is not locked until the claim expires.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias, TypeVar, TypeVarTuple
from uuid import uuid4

from toolwire.errors import StoreUnavailable
from toolwire.sessions.base import Claim, Entry, Key, Store

_log = logging.getLogger("toolwire.sessions")
_TICKS = 9
"""Ticks without any answer after which a store is down."""
_MOST_TICKS = 30 * _TICKS
"""No single caller waits longer than this, even if others are answered: about half a minute."""
_MOST_STRAYS = 10_000
_AT_ONCE = 50

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
StoreState: TypeAlias = Literal["unused", "available", "unavailable"]


class GuardedStore:
    """A store that answers in time or says that it does not."""

    def __init__(self, store: Store, *, within: float = 0.9, retry_every: float = 0.25) -> None:
        self._store = store
        self._tick = within / _TICKS
        self._within = within
        self._retry_every = retry_every
        self._ticks = 0
        self._answered = 0
        self._waiting: dict[asyncio.Timeout, int] = {}
        self._watching: asyncio.Task[None] | None = None
        self._strays: dict[str, Claim] = {}
        self._recovery: asyncio.Task[None] | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._closed = False
        self.state: StoreState = "unused"
        self.failures = 0

    async def claim(self, key: Key, lease: float, token: str = "") -> Claim:
        """Lock a document, and load it."""
        self._refuse_if_down()
        token = token or uuid4().hex
        try:
            return await self._ask(self._store.claim, key, lease, token)
        except (StoreUnavailable, asyncio.CancelledError):
            self._stray(Claim(key, 0, None, token))
            raise

    async def renew(self, claim: Claim, lease: float) -> None:
        """Keep a document locked."""
        await self._ask(self._store.renew, claim, lease)

    async def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        """Write a claimed document and unlock it.

        After `StoreUnavailable` it may have been written or not. It is unlocked either way.
        """
        try:
            await self._ask(self._store.commit, claim, value, ttl)
        except (StoreUnavailable, asyncio.CancelledError):
            self._stray(claim)
            raise

    async def release(self, claim: Claim) -> None:
        """Unlock a document: now, or once the store answers. Never raises `StoreUnavailable`."""
        try:
            await self._ask(self._store.release, claim)
        except StoreUnavailable:
            self._stray(claim)
        except asyncio.CancelledError:
            self._stray(claim)
            raise

    async def get(self, key: Key) -> bytes | None:
        """Read a document."""
        return await self._ask(self._store.get, key)

    async def put(self, values: dict[Key, bytes], ttl: float) -> None:
        """Write documents without a claim."""
        await self._ask(self._store.put, values, ttl)

    async def delete(self, key: Key) -> bool:
        """Delete a document."""
        return await self._ask(self._store.delete, key)

    async def list(self, kind: str, owner: str, after: str, limit: int) -> list[Entry]:
        """An owner's documents."""
        return await self._ask(self._store.list, kind, owner, after, limit)

    async def count(self, kind: str, owner: str) -> int:
        """How many documents an owner has."""
        return await self._ask(self._store.count, kind, owner)

    async def ping(self) -> None:
        """Raise `StoreUnavailable` if the store does not answer."""
        await self._ask(self._store.ping)

    def check_soon(self) -> None:
        """Find out whether the store answers, without waiting for it."""
        if self._recovery is None:
            self._recovery = asyncio.create_task(self._recover(0))

    async def aclose(self) -> None:
        """Stop asking, and close the store."""
        self._closed = True
        found = (self._recovery, self._releasing, self._watching)
        tasks = [task for task in found if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._store.aclose()

    async def _ask(self, method: Callable[[*Ts], Awaitable[T]], *args: *Ts) -> T:
        self._refuse_if_down()
        limit = asyncio.timeout(None)
        self._watch(limit)
        try:
            async with limit:
                answer = await method(*args)
        except TimeoutError:
            self.failures += 1
            if self.state == "available":
                _log.warning("the session store answered others, but not a request that waited")
            raise unavailable() from None
        except StoreUnavailable as error:
            self._fail(error.message)
            raise unavailable() from error
        finally:
            del self._waiting[limit]
        self.state = "available"
        self._answered = self._ticks
        return answer

    def _watch(self, limit: asyncio.Timeout) -> None:
        """Limit how long this caller waits."""
        if not self._waiting:
            self._answered = self._ticks
        self._waiting[limit] = self._ticks
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._count_ticks())

    async def _count_ticks(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._tick)
            self._ticks += 1
            if self._waiting and self._ticks - self._answered > _TICKS:
                self._note_failure(f"no answer within {self._within:g} s")
                self._give_up(self._ticks)
            self._give_up(self._ticks - _MOST_TICKS)

    def _give_up(self, began_before: int) -> None:
        """Tell those who have been waiting since then."""
        now = asyncio.get_running_loop().time()
        for limit, began in self._waiting.items():
            if began < began_before and limit.when() is None:
                limit.reschedule(now)

    def _refuse_if_down(self) -> None:
        if self._recovery is not None or self._closed:
            raise unavailable()

    def _fail(self, reason: str) -> None:
        self.failures += 1
        self._note_failure(reason)

    def _note_failure(self, reason: str) -> None:
        if self._closed:
            return  # old responses may still be deleted when the server stops
        self._note_down(reason)
        if self._recovery is None:
            self._recovery = asyncio.create_task(self._recover(self._retry_every))

    def _note_down(self, reason: str) -> None:
        if self.state != "unavailable":
            self.state = "unavailable"
            _log.warning("the session store is unavailable: %s", reason)

    async def _recover(self, pause: float) -> None:
        """Ask until the store answers."""
        while True:
            await asyncio.sleep(pause)
            pause = self._retry_every
            try:
                async with asyncio.timeout(self._within):
                    await self._store.ping()
            except (StoreUnavailable, TimeoutError) as error:
                self._note_down(str(error) or "no answer")
                continue
            self._recovery = None
            if self.state == "unavailable":
                _log.info("the session store is available again")
            self.state = "available"
            self._release_soon()
            return

    def _stray(self, claim: Claim) -> None:
        """Remember a claim that is to be released."""
        if len(self._strays) >= _MOST_STRAYS:
            del self._strays[next(iter(self._strays))]
        self._strays[claim.token] = claim
        if self._recovery is None:
            self._release_soon()

    def _release_soon(self) -> None:
        if self._strays and (self._releasing is None or self._releasing.done()):
            self._releasing = asyncio.create_task(self._release_strays())

    async def _release_strays(self) -> None:
        while self._strays and self._recovery is None:
            claims = list(self._strays.values())[:_AT_ONCE]
            for claim in claims:
                del self._strays[claim.token]
            await asyncio.gather(*map(self.release, claims))


def unavailable() -> StoreUnavailable:
    """What callers are told. The log says why."""
    return StoreUnavailable(
        "The session store does not answer. Try again later; requests without a session work."
    )
