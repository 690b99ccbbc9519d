import asyncio
import importlib.util
import signal

import pytest

from toolwire.server.process.event_loop import NoUvloop, loop_kind, on_signals, run_on_loop


def loop_of(kind: str) -> str:
    seen: list[str] = []

    async def look() -> None:
        seen.append(type(asyncio.get_running_loop()).__module__.partition(".")[0])

    assert run_on_loop(look(), kind) in ("uvloop", "asyncio")  # type: ignore[arg-type]
    return seen[0]


@pytest.mark.parametrize(
    ("kind", "module"), [("auto", "uvloop"), ("uvloop", "uvloop"), ("asyncio", "asyncio")]
)
def test_the_loop_is_the_one_that_is_wanted(kind: str, module: str) -> None:
    assert loop_of(kind) == module


def test_where_there_is_no_uvloop_asyncio_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert loop_kind("auto") == "asyncio"
    with pytest.raises(NoUvloop, match="pip install uvloop"):
        loop_kind("uvloop")


def test_a_signal_is_heard_where_the_loop_cannot_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGUSR1)

    async def wait() -> None:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()

        def refuse(*_: object) -> None:
            raise NotImplementedError

        monkeypatch.setattr(loop, "add_signal_handler", refuse)
        on_signals([signal.SIGUSR1], heard.set)
        signal.raise_signal(signal.SIGUSR1)
        await asyncio.wait_for(heard.wait(), 5)

    try:
        asyncio.run(wait())
    finally:
        signal.signal(signal.SIGUSR1, before)
