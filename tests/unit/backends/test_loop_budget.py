"""An iteration of the loop ends in time, and deferred work is done later, in order."""

import asyncio
import time
from unittest.mock import patch

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


def test_one_iteration_in_a_while_is_timed() -> None:
    """To notice the end of one takes a callback, which would be one for every chunk."""
    now = 100.0

    async def run() -> None:
        nonlocal now
        budget = LoopBudget()
        budget.connections = 17
        loop = asyncio.get_running_loop()
        with patch.object(loop, "call_soon", wraps=loop.call_soon) as call_soon:
            for _iteration in range(50):
                assert not budget.spent
                assert not budget.spent
                await asyncio.sleep(0)
                now += 0.001
        assert 5 <= call_soon.call_count - 50 <= 10, "one by each sleep, the others by the budget"

    with patch("toolwire.backends.loop_budget.perf_counter", lambda: now):
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
