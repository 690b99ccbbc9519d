"""What a stored turn costs: `python benchmarks/sessions.py [--full] [--gateway] [--store KIND]`.

Measures `claim` and `commit` of one conversation after another, as a gateway does them, for
histories of several lengths and stores that hold more and more conversations. A turn must cost what
its own history costs, not what the store holds. `--gateway` measures whole turns of the native API,
streamed, through a real gateway: of clients that send the whole history each time, and of
conversations in each store. Times are medians of wall time, beside the CPU time of this process, or
of the gateway, without that of Redis.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the Redis of the tests
from tests.e2e.gateway.process import running
from tests.e2e.sessions.speaking import (
    CHAT,
    TOOL,
    Backend,
    Connection,
    first_turn,
    next_turn,
    serving,
)
from tests.redis_server import redis_server

from toolwire.sessions.base import Key
from toolwire.sessions.guard import GuardedStore
from toolwire.sessions.open import open_store

KEYS = 10
TTL, LEASE = 30 * 86400.0, 30.0
SMALL = 2
"""Messages of the conversations that only fill the store."""


def history(messages: int) -> bytes:
    """A conversation as it is stored, with messages as agents have them."""
    said = {"role": "tool", "tool_call_id": f"call_{'0' * 32}", "content": "x" * 300}
    return json.dumps({"version": 1, "messages": [said] * messages}).encode()


def key(number: int) -> Key:
    """The name of a conversation of one of several owners."""
    return Key("conversation", f"key-{number % KEYS}", f"conv_{number:08}")


@contextmanager
def address(kind: str) -> Iterator[str]:
    """A new store."""
    with tempfile.TemporaryDirectory() as name:
        if kind == "memory":
            yield kind
        elif kind == "sqlite":
            yield f"sqlite:{name}/sessions.db"
        else:
            with redis_server(Path(name)) as server:
                yield server.url


async def fill(store: GuardedStore, first: int, last: int) -> None:
    """Store conversations, many at a time."""
    document = history(SMALL)
    for start in range(first, last, 200):
        numbers = range(start, min(start + 200, last))
        await store.put({key(number): document for number in numbers}, TTL)


async def measure(store: GuardedStore, held: int, document: bytes, turns: int) -> list[float]:
    """Medians: claim, commit, and CPU time of both, in microseconds."""
    claims, commits = [], []
    cpu = 0.0
    for turn in range(-5, turns):
        name = key((turn * 7919) % max(held, 1))
        await store.put({name: document}, TTL)
        before, started = time.process_time(), time.perf_counter()
        claim = await store.claim(name, LEASE)
        loaded = time.perf_counter()
        await store.commit(claim, document, TTL)
        ended = time.perf_counter()
        if turn >= 0:
            claims.append(loaded - started)
            commits.append(ended - loaded)
            cpu += time.process_time() - before
    micro = 1e6
    return [
        statistics.median(claims) * micro,
        statistics.median(commits) * micro,
        cpu / turns * micro,
    ]


async def run(kind: str, sizes: list[int], lengths: list[int], turns: int) -> None:
    """One table for a store."""
    with address(kind) as place:
        store = open_store(place)
        assert store is not None
        held = 0
        for count in sizes:
            await fill(store, held, count)
            held = count
            for length in lengths:
                document = history(length)
                claim, commit, cpu = await measure(store, held, document, turns)
                row = f"{held:>9,} {length:>9,} {len(document) / 1024:>8.0f}"
                print(f"{kind:<8} {row} {claim:>9.0f} {commit:>9.0f} {cpu:>9.0f}", flush=True)
        started = time.perf_counter()
        listed = await store.list("conversation", "key-3", "", 21)
        counted = await store.count("conversation", "key-3")
        seconds = time.perf_counter() - started
        found = f"{len(listed)} of {counted:,} conversations of a key"
        print(f"{kind:<8} list and count: {found} in {seconds * 1e6:.0f} us")
        await store.aclose()


class Stateless:
    """A client that sends the whole history in every turn, and the map of its calls."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.messages: list[Any] = [{"role": "user", "content": name}]

    def body(self, turn: int, call_id: str) -> Any:
        """The next request."""
        if turn:
            arguments = {"marker": self.name, "turn": turn}
            function = {"name": "look_up", "arguments": arguments}
            calls = [{"id": call_id, "type": "function", "function": function}]
            self.messages += [
                {"role": "assistant", "content": None, "tool_calls": calls},
                {"role": "tool", "tool_call_id": call_id, "content": arguments},
            ]
        return {"model": "m", "tools": [TOOL], "messages": self.messages, "stream": True}


class Stateful:
    """A client that sends what is new."""

    def __init__(self, name: str) -> None:
        self.name = name

    def body(self, turn: int, call_id: str) -> Any:
        """The next request."""
        if not turn:
            return first_turn(self.name, self.name, stream=True)
        return next_turn(self.name, call_id, {"marker": self.name, "turn": turn}, stream=True)


async def whole_turns(kind: str, backend: Backend, conversations: int, turns: int) -> None:
    """One row: conversations one after another, through a gateway of their own."""
    client = Stateless if kind == "stateless" else Stateful
    with (
        address("memory" if kind == "stateless" else kind) as place,
        running("--upstream", backend.url, "--sessions", place) as gateway,
    ):
        door, seconds, cpu = Connection(gateway.port), list[float](), 0.0
        for number in range(-2, conversations):
            talker, call_id = client(f"conv_{number}"), ""
            before = gateway.cpu
            for turn in range(turns):
                started = time.perf_counter()
                reply = await door.ask(CHAT, talker.body(turn, call_id))
                if number >= 0:
                    seconds.append(time.perf_counter() - started)
                call_id, _ = reply.call
            cpu += gateway.cpu - before if number >= 0 else 0
        each = cpu / (conversations * turns)
        door.close()
    assert not backend.mixed
    print(f"{kind:<10} {statistics.median(seconds) * 1e3:>9.2f} {each * 1e3:>9.2f}", flush=True)


async def through_a_gateway(kinds: list[str], conversations: int, turns: int) -> None:
    """The table of whole turns."""
    print(f"{'turns of':<10} {'median ms':>9} {'CPU ms':>9}")
    async with serving() as backend:
        for kind in ["stateless", *kinds]:
            await whole_turns(kind, backend, conversations, turns)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--store", choices=["memory", "sqlite", "redis"], action="append")
    parser.add_argument("--full", action="store_true", help="up to 100,000 conversations")
    parser.add_argument("--gateway", action="store_true", help="whole turns of the native API")
    parser.add_argument("--turns", type=int, default=200)
    given = parser.parse_args()
    kinds = given.store or ["memory", "sqlite", "redis"]
    if given.gateway:
        asyncio.run(through_a_gateway(kinds, max(1, given.turns // 10), 10))
        return
    sizes = [100, 10_000, 100_000] if given.full else [100, 5_000]
    print(f"{'store':<8} {'stored':>9} {'messages':>9} {'KiB':>8} {'claim us':>9}", end=" ")
    print(f"{'commit us':>9} {'CPU us':>9}")
    for kind in kinds:
        asyncio.run(run(kind, sizes, [2, 100, 1000], given.turns))


if __name__ == "__main__":
    main()
