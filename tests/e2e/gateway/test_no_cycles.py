"""However a request ends, nothing of it waits for the garbage collector.

The process lets the collector run seldom, and one cycle can hold a body of megabytes.
"""

import asyncio
import gc
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.gateway.wire import CHAT, chat_body, request_bytes
from tests.scripted import ScriptedServer

from toolwire.server.app import App
from toolwire.server.config.settings import BackendConfig, Config, Retries, RouteConfig, TraceFiles
from toolwire.server.http.limits import HttpLimits
from toolwire.server.http.server import HttpServer
from toolwire.server.telemetry.logs import Logs
from toolwire.server.telemetry.redact import Redactor

LARGE = "x" * 200_000  # read in a thread
ENDINGS = [
    "std", "err400", "err429_always", "err500", "refuse", "midstream_cut", "midstream_close",
    "midstream_error", "malformed", "close_delimited",
]  # fmt: skip
LEAVES = ["hang_headers", "hang_first", "hang_mid"]


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """Only what a test makes is searched: the process that runs them holds much more."""
    gc.freeze()
    gc.disable()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()
    gc.unfreeze()


ASKED = chat_body(messages=[{"role": "user", "content": LARGE}])
BODIES: dict[str, dict[str, Any]] = {
    CHAT: ASKED,
    "/v1/responses": {"model": "m", "input": LARGE},
    "/v1/messages": {**ASKED, "max_tokens": 9},
    "/native/v1/chat": ASKED,
    "/native/v1/chat?kept": {**ASKED, "conversation_id": "new"},
}


async def exchange(port: int, path: str, *, stream: bool, leaves: bool) -> None:
    """One request over a connection of its own, whose answer is not always waited for."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = {**BODIES[path], "stream": stream}
    writer.write(request_bytes(body, "connection: close", path=path))
    await (asyncio.sleep(0.3) if leaves else reader.read())
    writer.close()
    await asyncio.sleep(0.1)


async def left_behind(url: str, trace: TraceFiles, path: str = CHAT, **how: bool) -> set[str]:
    """What of ours only the collector would find after a request."""
    route = RouteConfig("*", (BackendConfig(name="b", url=url, dialect="openai"),))
    logs = Logs(level=50, as_json=False, redactor=Redactor(), stream=io.StringIO())
    config = Config(models=(route,), retries=Retries(backoff=0, max_retry_after=0), trace=trace)
    app = App(config, logs, clock=time.perf_counter)
    server = HttpServer(
        app,
        HttpLimits(),
        probe=app.probe,
        admits=app.admits,
        refuse=app.refuse,
        defect=lambda error: None,
    )
    port = await server.open("127.0.0.1", 0)
    await exchange(port, path, **how)
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    await exchange(port, path, **how)
    gc.collect()
    found = {_name(thing) for thing in gc.garbage}
    await server.aclose(0)
    await app.aclose()
    return {name for name in found if name.startswith("toolwire")}


def _name(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__name__}"


@pytest.mark.parametrize("traced", [False, True], ids=["", "traced"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("variant", ENDINGS + LEAVES)
def test_nothing_of_a_request_waits_for_the_garbage_collector(
    tmp_path: Path, variant: str, stream: bool, traced: bool
) -> None:
    trace = TraceFiles(dir=tmp_path if traced else None)
    with ScriptedServer(variant, ["hi there, how are you"]) as backend:
        leaves = variant in LEAVES
        assert asyncio.run(left_behind(backend.url, trace, stream=stream, leaves=leaves)) == set()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("variant", ["std", "err400", "midstream_cut", "hang_mid"])
@pytest.mark.parametrize("path", BODIES)
def test_nothing_of_a_request_to_any_api_does(
    tmp_path: Path, path: str, variant: str, stream: bool
) -> None:
    trace = TraceFiles(dir=None)
    with ScriptedServer(variant, ["hi there, how are you"]) as backend:
        leaves = variant in LEAVES
        left = left_behind(backend.url, trace, path, stream=stream, leaves=leaves)
        assert asyncio.run(left) == set()
