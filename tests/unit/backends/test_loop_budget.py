"""An iteration of the loop ends in time, and deferred work is done later, in order."""

import asyncio
import time

from toolwire.backends.loop_budget import LoopBudget


def work(seconds: float) -> None:
    """Keep the loop busy."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def test_few_connections_are_not_timed() -> None:
    async def run() -> None:
        budget = LoopBudget()
        budget.connections = 16
        assert not budget.spent
        work(0.02)
        assert not budget.spent

    asyncio.run(run())


def test_a_budget_is_spent_until_the_next_iteration() -> None:
    async def run() -> None:
        budget = LoopBudget()
        budget.connections = 17
        assert not budget.spent
        work(0.02)
        assert budget.spent
        await asyncio.sleep(0)
        assert not budget.spent

    asyncio.run(run())


def test_deferred_work_is_done_in_order_and_not_all_in_one_iteration() -> None:
    async def run() -> None:
        budget = LoopBudget()
        budget.connections = 17
        done: list[int] = []

        def item(number: int) -> None:
            done.append(number)
            work(0.008)

        for number in range(10):
            budget.defer(lambda number=number: item(number))  # type: ignore[misc]
        await asyncio.sleep(0)
        assert 1 <= len(done) < 10
        assert budget.spent, "whoever comes now comes after them"
        for _turn in range(10):
            await asyncio.sleep(0)
        assert done == list(range(10))
        assert not budget.spent

    asyncio.run(run())
