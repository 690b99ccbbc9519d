"""A gateway whose Redis is killed, paused, slow or restarted, or is not there at all (R15).

Requests without a session do not notice. Those with one get a 503 or the right answer, and a turn
that is sent again with its `Idempotency-Key` is taken once.
"""

import asyncio
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.sizes import FULL, size
from tests.e2e.sessions.speaking import CHAT, Backend, Connection, first_turn, next_turn, serving
from tests.hard.figures import note
from tests.redis_server import RedisServer, redis_server

TALKS = size(10, 40)
STATELESS = size(300, 2004)
"""Requests without a session that are sent meanwhile."""
REFUSED = {(503, "session_store_unavailable"), (409, "conversation_busy")}
"""What a session request may get. Busy: until a claim is released whose answer never came."""
SOON = 5.0
PAUSE = size(5, 25) / 100
"""Seconds between two turns of a client: a machine that is busy with turns proves nothing."""


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that keeps what it was told over a restart."""
    with redis_server(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as server:
        yield server


def gateway_on(server: RedisServer, backend: Backend) -> Any:
    """A gateway in front of both."""
    return running("--upstream", backend.url, "--sessions", server.url)


@dataclass
class Talker:
    """A client that sends each turn until it is taken."""

    port: int
    name: str = field(default_factory=lambda: f"conv_{uuid.uuid4().hex}")
    turns: int = 0
    call_id: str = ""
    refused: list[float] = field(default_factory=list)
    """How long each refusal took."""
    ended: bool = False

    async def talk(self) -> None:
        """Take turns until the end."""
        door = Connection(self.port)
        while not self.ended:
            key = {"idempotency-key": uuid.uuid4().hex}
            while not await self._try(door, key) and not self.ended:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await asyncio.sleep(PAUSE)

    async def _try(self, door: Connection, key: dict[str, str]) -> bool:
        if self.turns:
            result = {"marker": self.name, "turn": self.turns}
            body = next_turn(self.name, self.call_id, result)
        else:
            body = first_turn(self.name, self.name)
        started = time.monotonic()
        reply = await door.ask(CHAT, body, headers=key)
        if reply.status != 200:
            assert (reply.status, reply.code) in REFUSED, reply.body
            self.refused.append(time.monotonic() - started)
            return False
        self.call_id, arguments = reply.call
        self.turns += 1
        assert arguments == {"marker": self.name, "turn": self.turns}, "a wrong mapping"
        return True


@dataclass
class Passer:
    """A client without a session, which asks so many times."""

    port: int
    seconds: list[float] = field(default_factory=list)

    async def ask(self) -> None:
        """Ask once."""
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
        started = time.monotonic()
        reply = await Connection(self.port).ask("/v1/chat/completions", body)
        assert reply.status == 200, reply.body
        self.seconds.append(time.monotonic() - started)

    async def ask_on(self, many: int) -> None:
        """Ask so many times, with a little pause."""
        for _ in range(many):
            await self.ask()
            await asyncio.sleep(0.01)

    def p99(self, first: int, last: int) -> float:
        """What 99 of 100 of some requests took at most, in seconds."""
        return sorted(self.seconds[first:last])[int((last - first) * 0.99) - 1]


async def trouble(server: RedisServer, act: str) -> None:
    """Make trouble for two seconds."""
    if act == "killed":
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(2)
        await asyncio.to_thread(server.start)
    elif act == "paused":
        server.pause()
        await asyncio.sleep(2)
        server.resume()
    else:
        await asyncio.to_thread(server.ask, "DEBUG", "SLEEP", 2)


async def until_they_go_on(talkers: list[Talker]) -> float:
    """How long it takes until each has taken another turn."""
    started, before = time.monotonic(), [talker.turns for talker in talkers]
    while any(talker.turns <= turns for talker, turns in zip(talkers, before, strict=True)):
        assert time.monotonic() - started < 4 * SOON, "they do not go on"
        await asyncio.sleep(0.02)
    return time.monotonic() - started


@pytest.mark.timeout(1800 if FULL else 120)
def test_requests_without_a_session_are_served_and_no_turn_is_taken_twice(
    redis: RedisServer,
) -> None:
    async def run() -> None:
        async with serving() as backend:
            with gateway_on(redis, backend) as gateway:
                await beside_trouble(redis, gateway)
            assert backend.mixed == []

    asyncio.run(run())


async def beside_trouble(server: RedisServer, gateway: Gateway) -> None:
    """Clients of both kinds, while there is trouble."""
    talkers = [Talker(gateway.port) for _ in range(TALKS)]
    passer = Passer(gateway.port)
    talking = [asyncio.create_task(talker.talk()) for talker in talkers]
    await until_they_go_on(talkers)
    await asyncio.gather(*(passer.ask_on(STATELESS // 12) for _ in range(4)))
    calm, recovery = len(passer.seconds), []
    asking = asyncio.gather(*(passer.ask_on((STATELESS - calm) // 4) for _ in range(4)))
    for act in ("killed", "paused", "slow"):
        await trouble(server, act)
        recovery.append(await until_they_go_on(talkers))
    await asking
    for talker in talkers:
        talker.ended = True
    await asyncio.gather(*talking)
    await check_history(talkers)
    assert any(talker.refused for talker in talkers), "nobody noticed"
    slowest = max(max(talker.refused, default=0) for talker in talkers)
    added = passer.p99(calm, len(passer.seconds)) - passer.p99(0, calm)
    note(
        f"{len(passer.seconds)} requests without a session: all served, p99 "
        f"{added * 1000:+.0f} ms; {sum(t.turns for t in talkers)} turns, none twice; slowest "
        f"refusal {slowest:.2f} s, slowest recovery {max(recovery):.2f} s"
    )
    assert slowest < SOON
    assert max(recovery) < SOON
    assert "Traceback" not in gateway.log, gateway.log


async def check_history(talkers: list[Talker]) -> None:
    """Each conversation has the turns that its client saw, or one more that it gave up."""
    for talker in talkers:
        door = Connection(talker.port)
        shown = await door.ask(f"/native/v1/conversations/{talker.name}")
        assert talker.turns <= shown.json["turns"] <= talker.turns + 1
        assert shown.json["messages"][0]["content"] == talker.name
        door.close()


def test_a_gateway_starts_without_redis_and_finds_it_when_it_comes(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)

    async def run() -> None:
        async with serving() as backend:
            with gateway_on(server, backend) as gateway:
                door = Connection(gateway.port)
                assert (await door.ask("/readyz")).json == {"status": "ready"}
                await Passer(gateway.port).ask()
                started = time.monotonic()
                refused = await door.ask(CHAT, first_turn("conv_1", "conv_1"))
                assert (refused.status, refused.code) == (503, "session_store_unavailable")
                assert time.monotonic() - started < SOON
                ready = await door.ask("/readyz")
                assert ready.status == 200
                assert ready.json == {"status": "ready", "sessions": "unavailable"}
                assert b"toolwire_session_store_up 0.0" in (await door.ask("/metrics")).body
                await Passer(gateway.port).ask()
                await asyncio.to_thread(server.start)
                talker = Talker(gateway.port)
                talking = asyncio.create_task(talker.talk())
                await until_they_go_on([talker])
                talker.ended = True
                await talking
                assert (await door.ask("/readyz")).json["sessions"] == "available"
                assert b"toolwire_session_store_up 1.0" in (await door.ask("/metrics")).body
                assert "Traceback" not in gateway.log

    try:
        asyncio.run(run())
    finally:
        server.kill()


def test_a_gateway_starts_where_it_can_write_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")

    async def run() -> None:
        async with serving() as backend:
            home = {"XDG_STATE_HOME": str(tmp_path / "state")}
            with running("--upstream", backend.url, env=home) as gateway:
                await Passer(gateway.port).ask()
                door = Connection(gateway.port)
                refused = await door.ask(CHAT, first_turn("conv_1", "conv_1"))
                assert (refused.status, refused.code) == (503, "session_store_unavailable")
                gateway.wait_for_log("the session store is unavailable")
                assert str(tmp_path) in gateway.log
                assert str(tmp_path).encode() not in refused.body
                await Passer(gateway.port).ask()

    asyncio.run(run())
