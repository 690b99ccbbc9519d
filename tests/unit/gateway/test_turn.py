"""Work on large bodies leaves the event loop, without crowding it out from elsewhere."""

import asyncio
import threading
import time

from toolwire.gateway.turn import LARGE_BODY, off_loop


def test_only_one_large_body_is_worked_on_at_a_time() -> None:
    at_once: list[int] = []
    busy = 0

    def work() -> str:
        nonlocal busy
        busy += 1
        at_once.append(busy)
        time.sleep(0.005)
        busy -= 1
        return threading.current_thread().name

    async def run() -> list[str]:
        return await asyncio.gather(*[off_loop(LARGE_BODY + 1, work) for _ in range(8)])

    names = asyncio.run(run())
    assert at_once == [1] * 8
    assert threading.current_thread().name not in names


def test_small_work_is_done_at_once() -> None:
    assert asyncio.run(off_loop(LARGE_BODY, threading.current_thread)) is threading.main_thread()
