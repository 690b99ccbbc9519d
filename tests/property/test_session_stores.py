"""Any sequence of claims, commits, failures, expiries and deletions gives what a plain model of it
gives, on every store."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    rule,
    run_state_machine_as_test,
)
from tests.redis_server import RedisServer, redis_server

from toolwire.errors import ClaimLost, ConversationBusy
from toolwire.sessions.base import Claim, Key, Store
from toolwire.sessions.memory import MemoryStore
from toolwire.sessions.redis import RedisStore
from toolwire.sessions.sqlite import SqliteStore

T = TypeVar("T")

IDS = st.sampled_from(["a", "b", "b:1", "ä"])
OWNERS = st.sampled_from(["alice", "bob", ""])
KINDS = st.sampled_from(["conversation", "response"])
KEYS = st.builds(Key, KINDS, OWNERS, IDS)
VALUES = st.binary(max_size=20)
LONG, SHORT = 1000.0, 10.0


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Document:
    """What the model knows of a document."""

    value: bytes
    expires: float


@dataclass
class Lock:
    """What the model knows of a lock."""

    token: str
    until: float


class Model(RuleBasedStateMachine):
    """A store, and two dicts that say what it has to do."""

    make: ClassVar[Callable[[Clock], Store]]
    shared: ClassVar[bool] = True
    """Whether a second store sees the same documents."""
    passes: ClassVar[bool] = True
    """Whether time passes only if it is told to."""

    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = Clock()
        self.documents: dict[Key, Document] = {}
        self.locks: dict[Key, Lock] = {}
        self.doors: list[Store] = []
        self.fences: dict[Key, int] = {}
        self.turn = itertools.count()

    @initialize()
    def open(self) -> None:
        """Two doors to the same documents, used in turn."""
        make = type(self).make
        self.doors = [make(self.clock)]
        self.doors.append(make(self.clock) if self.shared else self.doors[0])

    def teardown(self) -> None:
        for store in self.doors:
            self.runner.run(store.aclose())
        self.runner.close()

    def ask(self, call: Callable[[Store], Awaitable[T]]) -> T | type[Exception]:
        """What the store says, through one door or the other."""
        store = self.doors[next(self.turn) % 2]

        async def run() -> T | type[Exception]:
            try:
                return await call(store)
            except (ConversationBusy, ClaimLost) as error:
                return type(error)

        return self.runner.run(run())

    # The model.

    def locked(self, key: Key) -> bool:
        return key in self.locks and self.locks[key].until > self.clock.now

    def held(self, claim: Claim) -> bool:
        return self.locked(claim.key) and self.locks[claim.key].token == claim.token

    def found(self, key: Key) -> bytes | None:
        document = self.documents.get(key)
        if document is None or (document.expires <= self.clock.now and not self.locked(key)):
            self.documents.pop(key, None)
            return None
        return document.value

    # What can happen.

    @rule(target=claims, key=KEYS, lease=st.sampled_from([LONG, SHORT]))
    def claim(self, key: Key, lease: float) -> Claim:
        busy, value = self.locked(key), self.found(key)
        answer = self.ask(lambda store: store.claim(key, lease))
        if busy:
            assert answer is ConversationBusy
            return Claim(key, 0, None, "never granted")
        assert isinstance(answer, Claim)
        assert (answer.key, answer.value) == (key, value)
        assert answer.fence > self.fences.get(key, 0)
        self.fences[key] = answer.fence
        self.locks[key] = Lock(answer.token, self.clock.now + lease)
        return answer

    @rule(claim=claims, lease=st.sampled_from([LONG, SHORT]))
    def renew(self, claim: Claim, lease: float) -> None:
        held = self.held(claim)
        answer = self.ask(lambda store: store.renew(claim, lease))
        assert answer is (None if held else ClaimLost)
        if held:
            self.locks[claim.key].until = self.clock.now + lease

    @rule(claim=claims, value=VALUES, ttl=st.sampled_from([LONG, SHORT]))
    def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        held = self.held(claim)
        answer = self.ask(lambda store: store.commit(claim, value, ttl))
        assert answer is (None if held else ClaimLost)
        if held:
            self.documents[claim.key] = Document(value, self.clock.now + ttl)
            del self.locks[claim.key]

    @rule(claim=consumes(claims))
    def release(self, claim: Claim) -> None:
        held = self.held(claim)
        assert self.ask(lambda store: store.release(claim)) is None
        if held:
            del self.locks[claim.key]

    @rule(values=st.dictionaries(KEYS, VALUES, max_size=4), ttl=st.sampled_from([LONG, SHORT]))
    def put(self, values: dict[Key, bytes], ttl: float) -> None:
        busy = any(map(self.locked, values))
        answer = self.ask(lambda store: store.put(values, ttl))
        assert answer is (ConversationBusy if busy else None)
        if not busy:
            expires = self.clock.now + ttl
            self.documents |= {key: Document(value, expires) for key, value in values.items()}

    @rule(key=KEYS)
    def delete(self, key: Key) -> None:
        busy, there = self.locked(key), self.found(key) is not None
        assert self.ask(lambda store: store.delete(key)) is (ConversationBusy if busy else there)
        if not busy:
            self.documents.pop(key, None)

    @rule(key=KEYS)
    def get(self, key: Key) -> None:
        assert self.ask(lambda store: store.get(key)) == self.found(key)

    @rule(kind=KINDS, owner=OWNERS, after=st.just("") | IDS, limit=st.integers(1, 5))
    def list(self, kind: str, owner: str, after: str, limit: int) -> None:
        listed = self.ask(lambda store: store.list(kind, owner, after, limit))
        assert not isinstance(listed, type)
        sizes = [(entry.id, entry.size) for entry in listed]
        assert sizes == [pair for pair in self.living(kind, owner) if pair[0] > after][:limit]
        assert self.ask(lambda store: store.count(kind, owner)) == len(self.living(kind, owner))

    def living(self, kind: str, owner: str) -> Any:
        return sorted(
            (key.id, len(document.value))
            for key, document in self.documents.items()
            if (key.kind, key.owner) == (kind, owner) and document.expires > self.clock.now
        )

    @rule(seconds=st.sampled_from([1.0, SHORT, LONG]))
    def wait(self, seconds: float) -> None:
        if self.passes:
            self.clock.now += seconds


def check(make: Callable[[Clock], Store], *, shared: bool, passes: bool, examples: int) -> None:
    machine = type("Machine", (Model,), {"make": staticmethod(make), "shared": shared})
    machine.passes = passes
    options = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=options)


def test_memory_does_what_the_model_does() -> None:
    check(lambda clock: MemoryStore(clock=clock), shared=False, passes=True, examples=50)


@pytest.mark.slow
def test_a_file_does_what_the_model_does(tmp_path: Path) -> None:
    clocks: list[Clock] = []

    def make(clock: Clock) -> Store:
        if clock not in clocks:
            clocks.append(clock)
        return SqliteStore(tmp_path / f"{clocks.index(clock)}.db", clock=clock)

    check(make, shared=True, passes=True, examples=25)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.mark.slow
@pytest.mark.process
def test_redis_does_what_the_model_does(server: RedisServer) -> None:
    """Time passes by itself there: expiry is in the contract of all stores."""
    clocks: list[Clock] = []

    def make(clock: Clock) -> Store:
        if clock not in clocks:
            clocks.append(clock)
            server.ask("FLUSHALL")
        return RedisStore(server.url)

    check(make, shared=True, passes=False, examples=20)
