"""Conversations of many keys over two processes, and ids that are not theirs (R9, R20).

A conversation that was begun on one process is continued on another, also after the first was
killed.
"""

import asyncio
import itertools
import json
import signal
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.sizes import FULL, size
from tests.e2e.sessions.speaking import (
    CHAT,
    Backend,
    Connection,
    Reply,
    first_turn,
    next_turn,
    serving,
)
from tests.hard.figures import note

from toolwire.server.access.auth import hash_key

KEYS = 10
CONVERSATIONS = size(4, 100)
"""Of each key. Their ids are the same for every key."""
TURNS = size(5, 20)
PATIENT = "[timeouts]\nqueue = 600\n"
"""On a small machine, all at once is too much at once: let them wait."""


def configured(address: str, backend: Backend, more: str = "") -> str:
    """The configuration of a gateway."""
    names = [f"key-{number}" for number in range(KEYS)]
    keys = [f'[[keys]]\nname = "{name}"\nsha256 = "{hash_key(name)}"\n' for name in names]
    model = f'[[models]]\nname = "m"\nbackend = {{ url = "{backend.url}", dialect = "openai" }}\n'
    return f'[sessions]\nstore = "{address}"\n{more}\n{model}' + "".join(keys)


def key(number: int) -> dict[str, str]:
    """The header of a client."""
    return {"authorization": f"Bearer key-{number}"}


@dataclass
class Talk:
    """One conversation of one client, on all gateways in turn."""

    number: int
    name: str
    ports: list[int]
    marker: str = field(default_factory=lambda: uuid.uuid4().hex)
    call_ids: list[str] = field(default_factory=list)
    turns: int = 0

    async def take_turns(self, many: int) -> None:
        """Say something and send results, so many times."""
        doors = [Connection(port) for port in self.ports]
        for _ in range(many):
            await self.take_turn(doors[self.turns % len(doors)])
        for door in doors:
            door.close()

    async def take_turn(self, door: Connection) -> None:
        """One request, and its answer."""
        stream = self.turns % 3 != 2
        if not self.turns:
            body = first_turn(self.name, self.marker, stream=stream)
        else:
            result = {"marker": self.marker, "turn": self.turns}
            body = next_turn(self.name, self.call_ids[-1], result, stream=stream)
        reply = await door.ask(CHAT, body, headers=key(self.number))
        assert reply.status == 200, reply.body
        call_id, arguments = reply.call
        self.turns += 1
        assert arguments == {"marker": self.marker, "turn": self.turns}, "a foreign answer"
        self.call_ids.append(call_id)


async def crowd(ports: list[int]) -> list[Talk]:
    """All conversations at once."""
    pairs = itertools.product(range(KEYS), range(CONVERSATIONS))
    talks = [Talk(number, f"conv_{name}", ports) for number, name in pairs]
    await asyncio.gather(*(talk.take_turns(TURNS) for talk in talks))
    return talks


@pytest.mark.timeout(1800 if FULL else 120)
def test_nothing_is_delivered_to_another_conversation_and_no_foreign_id_is_accepted(
    address: str,
) -> None:
    async def run() -> None:
        async with serving() as backend:
            with ExitStack() as stack:
                config = configured(address, backend) + PATIENT
                enter = stack.enter_context
                gateways = [await asyncio.to_thread(enter, running(config=config)) for _ in "12"]
                talks = await crowd([gateway.port for gateway in gateways])
                calls = [call_id for talk in talks for call_id in talk.call_ids]
                assert len(set(calls)) == len(calls) == KEYS * CONVERSATIONS * TURNS
                assert backend.mixed == []
                tried = await try_foreign_ids(talks, backend)
                note(
                    f"{len(calls)} calls of {len(talks)} conversations over 2 processes: "
                    f"0 mixed up; {tried} foreign ids: 0 accepted"
                )
                assert_no_defects(gateways)

    asyncio.run(run())


def assert_no_defects(gateways: list[Gateway]) -> None:
    for gateway in gateways:
        assert gateway.process.poll() is None
        assert "Traceback" not in gateway.log, gateway.log


async def try_foreign_ids(talks: list[Talk], backend: Backend) -> int:
    """Send ids that are not those of the conversation: each is refused, in the same words."""
    asked = backend.asked
    unknown = "call_" + "0" * 32
    answers: list[Reply] = []
    for talk, other in zip(talks, talks[CONVERSATIONS:] + talks[:CONVERSATIONS], strict=True):
        door = Connection(talk.ports[0])
        sibling = next(t for t in talks if t.number == talk.number and t is not talk)
        foreign = [unknown, other.call_ids[-1], sibling.call_ids[-1], f"call_{talk.turns}"]
        for call_id in (*foreign, uuid.uuid4().hex, talk.call_ids[-1].upper()):
            body = next_turn(talk.name, call_id, {"marker": talk.marker, "turn": talk.turns})
            answers.append(await door.ask(CHAT, body, headers=key(talk.number)))
        door.close()
    said = {(answer.status, _without_ids(answer)) for answer in answers}
    assert len(said) == 1, said
    assert next(iter(said))[0] == 400
    assert backend.asked == asked, "something was sent to the model"
    return len(answers)


def _without_ids(answer: Reply) -> str:
    return json.dumps(answer.json["error"], sort_keys=True)


def test_an_expired_conversation_and_its_ids_are_like_unknown_ones(address: str) -> None:
    async def run() -> None:
        async with serving() as backend:
            config = configured(address, backend, "ttl = 1")
            with running(config=config) as gateway:
                door = Connection(gateway.port)
                talk = Talk(0, "conv_1", [gateway.port])
                await talk.take_turn(door)
                await asyncio.sleep(1.2)
                result = {"marker": talk.marker, "turn": 1}
                late = await door.ask(
                    CHAT,
                    {"model": "m", **next_turn("conv_1", talk.call_ids[0], result)},
                    headers=key(0),
                )
                never = await door.ask(
                    CHAT, {"model": "m", **next_turn("conv_2", "call_1", result)}, headers=key(0)
                )
                assert (late.status, late.json) == (never.status, never.json)
                assert late.status == 400
                shown = await door.ask("/native/v1/conversations/conv_1", headers=key(0))
                assert shown.status == 404

    asyncio.run(run())


def test_others_can_neither_list_nor_read_nor_delete_a_conversation(address: str) -> None:
    async def run() -> None:
        async with serving() as backend:
            with running(config=configured(address, backend)) as gateway:
                talk = Talk(0, "conv_1", [gateway.port])
                await talk.take_turns(2)
                door, at = Connection(gateway.port), "/native/v1/conversations"
                listed = await door.ask(at, headers=key(1))
                assert listed.json["data"] == []
                answers = [
                    await door.ask(f"{at}/{name}", method=method, headers=key(1))
                    for method in ("GET", "DELETE")
                    for name in ("conv_1", "conv_2")
                ]
                assert {answer.status for answer in answers} == {404}
                assert len({answer.body for answer in answers}) == 1
                await talk.take_turn(door)

    asyncio.run(run())


def test_a_conversation_goes_on_after_its_process_was_killed_between_turns(address: str) -> None:
    async def run() -> None:
        async with serving() as backend:
            config = configured(address, backend)
            talk = Talk(0, "conv_1", [])
            for _ in range(3):
                with running(config=config) as gateway:
                    await talk.take_turn(Connection(gateway.port))
                    await talk.take_turn(Connection(gateway.port))
                    gateway.signal(signal.SIGKILL)
                    gateway.wait(10)
            assert talk.turns == 6
            assert backend.mixed == []

    asyncio.run(run())


@pytest.mark.slow
def test_a_turn_whose_process_is_killed_changes_nothing(address: str) -> None:
    """The dead process holds the conversation until its claim expires, and no longer."""

    async def run() -> None:
        async with serving() as backend:
            config = configured(address, backend)
            with running(config=config) as first, running(config=config) as second:
                talk = Talk(0, "conv_1", [])
                await talk.take_turn(Connection(first.port))
                backend.hangs.add(talk.marker)
                result = {"marker": talk.marker, "turn": 1}
                body = next_turn("conv_1", talk.call_ids[0], result)
                lost = asyncio.create_task(Connection(first.port).ask(CHAT, body, headers=key(0)))
                await asyncio.wait_for(backend.hanging.wait(), 20)
                first.signal(signal.SIGKILL)
                with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                    await lost
                backend.hangs.clear()
                door = Connection(second.port)
                early = await door.ask(CHAT, body, headers=key(0))
                assert (early.status, early.code) == (409, "conversation_busy")
                late = await door.ask(CHAT, {**body, "wait": 60}, headers=key(0))
                assert late.status == 200, late.body
                assert late.call[1] == {"marker": talk.marker, "turn": 2}
                assert backend.mixed == []

    asyncio.run(run())
