"""The backend on a real engine: what is given up is stopped, and nobody waits for nothing."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from tests.e2e.embedded.spying import SpyEngine, ask

from toolwire.backends.base import Constraint
from toolwire.backends.embedded.backend import EmbeddedBackend
from toolwire.protocol.fragments import Fragment

T = TypeVar("T")

STORY = "Write a long story about a dog and the sea."
READING = "The dog ran to the sea and came back. " * 60


@pytest.fixture
def backend(engine: SpyEngine) -> EmbeddedBackend:
    engine.forget()
    return EmbeddedBackend("embedded", engine)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 60))


async def answer(backend: EmbeddedBackend, text: str, **params: Any) -> list[Fragment]:
    fragments: list[Fragment] = []
    under_way = await backend.open(ask(text, **params))
    try:
        assert await under_way.relay(fragments.extend)
    finally:
        under_way.close()
    return fragments


async def over(engine: SpyEngine) -> None:
    """Wait until the engine has nothing to do."""
    turns = (asyncio.wrap_future(turn) for turn, _ in engine.turns)
    await asyncio.gather(*turns, return_exceptions=True)


def test_a_warm_up_ends_when_there_is_a_turn_to_make(
    backend: EmbeddedBackend, engine: SpyEngine
) -> None:
    async def work() -> None:
        warming = asyncio.create_task(backend.warm_up(ask(STORY, seed=1)))
        await asyncio.sleep(0)
        assert await answer(backend, "Say hello.", max_tokens=1)
        assert not await asyncio.wait_for(warming, 10), "it is not said to be warm"
        assert await backend.warm_up(ask("Say hello.", max_tokens=1))

    run(work())
    (_, warmed), *_ = engine.turns
    assert len(warmed) < 12  # the whole story would have hundreds


def test_an_answer_that_is_closed_ends_within_a_few_tokens(
    backend: EmbeddedBackend, engine: SpyEngine
) -> None:
    async def work() -> float:
        under_way = await backend.open(ask(STORY, seed=1))
        started = time.monotonic()
        under_way.close()
        await over(engine)
        return time.monotonic() - started

    assert run(work()) < 8
    (_, chunks) = engine.turns[0]
    assert len(chunks) < 12  # the whole story would have hundreds


def test_a_prompt_that_is_still_being_read_can_be_given_up(
    backend: EmbeddedBackend, engine: SpyEngine
) -> None:
    async def work() -> None:
        under_way = await backend.open(ask(READING, seed=1, max_tokens=4))
        under_way.close()
        await over(engine)

    run(work())
    progress = [chunk["prompt_progress"] for chunk in engine.turns[0][1]]
    assert progress[-1]["processed"] <= 128 < progress[-1]["total"]


def test_a_task_that_is_cancelled_before_its_answer_begins_stops_the_engine(
    backend: EmbeddedBackend, engine: SpyEngine
) -> None:
    async def work() -> None:
        first = asyncio.create_task(answer(backend, STORY, max_tokens=12))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(answer(backend, STORY, max_tokens=12))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await first
        await over(engine)

    run(work())
    (first, said), (waiting, nothing) = engine.turns
    assert said
    assert not first.cancelled()
    assert waiting.cancelled()
    assert nothing == []


def test_turns_are_made_in_the_order_they_were_asked_for(backend: EmbeddedBackend) -> None:
    finished: list[int] = []

    async def one(number: int) -> None:
        await answer(backend, f"Count to {number}.", max_tokens=6)
        finished.append(number)

    async def work() -> None:
        await asyncio.gather(*(one(number) for number in range(4)))

    run(work())
    assert finished == [0, 1, 2, 3]


def test_the_event_loop_goes_on_while_the_model_thinks(backend: EmbeddedBackend) -> None:
    async def work() -> int:
        thinking = asyncio.create_task(answer(backend, READING[:600], seed=2, max_tokens=1))
        ticks = 0
        while not thinking.done():
            await asyncio.sleep(0.02)
            ticks += 1
        await thinking
        return ticks

    assert run(work()) > 10


def test_a_paused_answer_is_handed_over_when_it_is_resumed(backend: EmbeddedBackend) -> None:
    async def work() -> tuple[int, list[Fragment]]:
        fragments: list[Fragment] = []
        under_way = await backend.open(ask(STORY, max_tokens=8))
        under_way.pause()
        relaying = asyncio.create_task(under_way.relay(fragments.extend))
        await asyncio.sleep(1)
        before = len(fragments)
        under_way.resume()
        assert await relaying
        under_way.close()
        return before, fragments

    before, fragments = run(work())
    assert before == 0
    assert fragments[-1].usage is not None
    assert fragments[-1].usage.completion_tokens == 8


def test_what_the_listener_raises_is_raised(backend: EmbeddedBackend, engine: SpyEngine) -> None:
    def listener(_fragments: list[Fragment]) -> None:
        raise LookupError

    async def work() -> None:
        under_way = await backend.open(ask(STORY, max_tokens=200))
        with pytest.raises(LookupError):
            await under_way.relay(listener)
        under_way.close()
        await over(engine)

    run(work())
    assert len(engine.turns[0][1]) < 100


def test_the_same_seed_gives_the_same_answer_again(backend: EmbeddedBackend) -> None:
    async def work() -> list[str]:
        texts = []
        for text in (STORY, "Something else.", STORY):
            fragments = await answer(backend, text, seed=5, temperature=1, max_tokens=12)
            texts.append("".join(fragment.text for fragment in fragments))
        return texts

    first, other, again = run(work())
    assert first == again != other


def test_a_prompt_that_is_read_to_try_a_grammar_can_be_given_up(
    backend: EmbeddedBackend, engine: SpyEngine
) -> None:
    held = replace(ask(READING, max_tokens=4), constraint=Constraint(b'{"type":"object"}'))

    async def work() -> None:
        opening = asyncio.create_task(backend.open(held))
        await asyncio.sleep(0.3)
        opening.cancel()
        await over(engine)

    run(work())
    progress = [chunk["prompt_progress"] for chunk in engine.turns[0][1]]
    assert all(step["processed"] < step["total"] for step in progress)
