"""A turn of the loop ends in time, and what was put off is made up for in order."""

import asyncio
import time

from toolwire.backends.loop_turn import LoopTurn


def work(seconds: float) -> None:
    """Keep the loop busy."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def test_few_connections_are_not_timed() -> None:
    async def run() -> None:
        turn = LoopTurn()
        turn.connections = 16
        assert not turn.long
        work(0.02)
        assert not turn.long

    asyncio.run(run())


def test_a_turn_is_long_until_the_next_begins() -> None:
    async def run() -> None:
        turn = LoopTurn()
        turn.connections = 17
        assert not turn.long
        work(0.02)
        assert turn.long
        await asyncio.sleep(0)
        assert not turn.long

    asyncio.run(run())


def test_what_is_put_off_is_done_in_order_and_not_all_in_one_turn() -> None:
    async def run() -> None:
        turn = LoopTurn()
        turn.connections = 17
        done: list[int] = []

        def item(number: int) -> None:
            done.append(number)
            work(0.008)

        for number in range(10):
            turn.put_off(lambda number=number: item(number))  # type: ignore[misc]
        await asyncio.sleep(0)
        assert 1 <= len(done) < 10
        assert turn.long, "whoever comes now comes after them"
        for _turn in range(10):
            await asyncio.sleep(0)
        assert done == list(range(10))
        assert not turn.long

    asyncio.run(run())
