import asyncio
import io
import time

import pytest

from toolwire.server.app import App
from toolwire.server.config.loader import load
from toolwire.server.health.prober import Prober
from toolwire.server.telemetry.logs import setup


def test_a_reader_of_the_output_that_is_gone_does_not_end_the_probing() -> None:
    config = load(None, env={}, flags={"upstream": ("http://127.0.0.1:9/v1",)})
    told: list[str] = []

    def say(text: str) -> None:
        told.append(text)
        raise BrokenPipeError

    async def probe() -> None:
        app = App(config, setup("error", stream=io.StringIO()), clock=time.perf_counter)
        try:
            async with asyncio.timeout(0.5):
                await Prober(app.services, config, say).run()
        finally:
            await app.aclose()

    with pytest.raises(TimeoutError):
        asyncio.run(probe())
    (line,) = told
    assert "Nothing usable answers at http://127.0.0.1:9/v1" in line
