"""The loop against a real server: calls at once, results in order, limits, hooks, cancellation."""

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scripted import ScriptedServer

from toolwire.client import (
    AsyncClient,
    CallFinished,
    CallStarted,
    Client,
    ConfigurationError,
    Event,
    LimitReached,
    Limits,
    ReasoningDelta,
    RunFinished,
    RunResult,
    TextDelta,
    tool,
)

LOG: list[str] = []
STOPPED = threading.Event()
WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


@tool
def wait(name: str, seconds: float = 0.2) -> str:
    """Wait in a thread."""
    LOG.append(f"begin {name}")
    time.sleep(seconds)
    LOG.append(f"end {name}")
    return name


@tool
async def await_it(name: str, seconds: float = 0.2) -> str:
    """Wait in a task."""
    try:
        LOG.append(f"begin {name}")
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        LOG.append(f"cancelled {name}")
        STOPPED.set()
        raise
    LOG.append(f"end {name}")
    return name


@tool(exclusive=True)
def alone(name: str) -> str:
    """Run alone."""
    LOG.append(f"begin {name}")
    time.sleep(0.05)
    LOG.append(f"end {name}")
    return name


@tool
def spin(name: str) -> str:
    """Work until stopped."""
    try:
        LOG.append(f"begin {name}")
        while True:
            time.sleep(0.005)
    finally:
        LOG.append(f"stopped {name}")
        STOPPED.set()


@tool
def fail(text: str) -> str:
    """Fail."""
    secret = "hunter2"
    raise ValueError(f"{text}, {len(secret)} letters")


@tool
def whoami() -> str:
    """Say who asks."""
    return WHO.get()


TOOLS = [wait, await_it, alone, spin, fail, whoami]


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [[name, arguments] for name, arguments in made]}


def sync_run(url: str, **options: Any) -> RunResult:
    with Client(url, model="scripted") as client:
        return client.run("Go.", tools=TOOLS, **options)


def async_run(url: str, **options: Any) -> RunResult:
    async def run() -> RunResult:
        async with AsyncClient(url, model="scripted") as client:
            return await client.run("Go.", tools=TOOLS, **options)

    return asyncio.run(run())


Runner = Callable[..., RunResult]
BOTH = pytest.mark.parametrize("run", [sync_run, async_run], ids=["sync", "async"])
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.fixture(autouse=True)
def _clean() -> None:
    LOG.clear()
    STOPPED.clear()


def texts(result: RunResult) -> list[str]:
    return [one.result.text for one in result.calls]


@BOTH
@STREAMED
def test_the_calls_of_a_turn_run_at_once_and_answer_in_order(
    backend: ScriptedServer, run: Runner, stream: bool
) -> None:
    made = calls(
        ("wait", {"name": "a", "seconds": 0.4}), ("await_it", {"name": "b"}),
        ("wait", {"name": "c"}), ("fail", {"text": "no"}),
    )  # fmt: skip
    backend.use("std", [made, "Done."])
    result = run(backend.url, stream=stream)
    assert (str(result), result.turns) == ("Done.", 2)
    assert texts(result) == ["a", "b", "c", "Error: ValueError: no, 7 letters"]
    begun = {line for line in LOG if line.startswith("begin")}
    assert set(LOG[:3]) == begun, "all had begun before any ended"
    assert LOG[-1] == "end a"
    sent = backend.requests[1].json["messages"]
    assert [m["content"] for m in sent if m["role"] == "tool"] == texts(result)


@BOTH
def test_an_exclusive_tool_runs_alone(backend: ScriptedServer, run: Runner) -> None:
    made = calls(("wait", {"name": "a"}), ("alone", {"name": "x"}), ("alone", {"name": "y"}))
    backend.use("std", [made, "Done."])
    assert texts(run(backend.url)) == ["a", "x", "y"]
    assert LOG == ["begin a", "end a", "begin x", "end x", "begin y", "end y"]


@BOTH
def test_a_tool_that_takes_too_long_is_stopped_and_the_model_is_told(
    backend: ScriptedServer, run: Runner
) -> None:
    made = calls(("spin", {"name": "a"}), ("await_it", {"name": "b", "seconds": 60}))
    backend.use("std", [made, "Done."])
    result = run(backend.url, limits=Limits(tool_seconds=0.2))
    told = "Error: the tool did not finish within 0.2 s and was stopped"
    assert texts(result) == [told, told]
    backend.wait_for(lambda: {"stopped a", "cancelled b"} <= set(LOG))


@BOTH
def test_a_tools_own_timeout_comes_first(backend: ScriptedServer, run: Runner) -> None:
    backend.use("std", [calls(("wait", {"name": "a", "seconds": 0.1})), "Done."])
    quick = tool(wait, timeout=30.0)
    assert quick.timeout == 30.0
    assert texts(run(backend.url, limits=Limits(tool_seconds=20)))[0] == "a"


@BOTH
@STREAMED
def test_a_run_has_a_limit_of_time(backend: ScriptedServer, run: Runner, stream: bool) -> None:
    backend.use("std", [calls(("await_it", {"name": "b", "seconds": 60})), "Done."])
    with pytest.raises(LimitReached, match=r"limit of 0\.4 s"):
        run(backend.url, limits=Limits(seconds=0.4), stream=stream)


@BOTH
@STREAMED
def test_a_silent_server_cannot_hold_a_run_beyond_its_time(
    backend: ScriptedServer, run: Runner, stream: bool
) -> None:
    backend.use("hang_first", ["Done."])
    began = time.monotonic()
    with pytest.raises(LimitReached):
        run(backend.url, limits=Limits(seconds=0.4), stream=stream)
    assert time.monotonic() - began < 5


@BOTH
def test_a_model_that_calls_for_ever_is_asked_for_text(
    backend: ScriptedServer, run: Runner
) -> None:
    backend.use("std", [calls(("fail", {"text": "again"}))])
    result = run(backend.url, limits=Limits(turns=4))
    assert (result.turns, result.stopped_by) == (4, "turns")
    choices = [asked.json.get("tool_choice") for asked in backend.requests]
    assert choices == [None, None, None, "none"]


@BOTH
def test_fifty_calls_run_at_once(backend: ScriptedServer, run: Runner) -> None:
    made = calls(*(("wait", {"name": str(n), "seconds": 0.5}) for n in range(50)))
    backend.use("std", [made, "Done."])
    assert texts(run(backend.url)) == [str(n) for n in range(50)]
    assert all(line.startswith("begin") for line in LOG[:50])


@BOTH
def test_no_more_calls_run_at_once_than_allowed(backend: ScriptedServer, run: Runner) -> None:
    made = calls(*(("wait", {"name": str(n), "seconds": 0.05}) for n in range(6)))
    backend.use("std", [made, "Done."])
    assert len(texts(run(backend.url, limits=Limits(concurrency=2)))) == 6
    running = most = 0
    for line in LOG:
        running += 1 if line.startswith("begin") else -1
        most = max(most, running)
    assert most == 2


@BOTH
def test_tools_see_the_callers_context(backend: ScriptedServer, run: Runner) -> None:
    backend.use("std", [calls(("whoami", {})), "Done."])
    token = WHO.set("me")
    try:
        assert texts(run(backend.url)) == ["me"]
    finally:
        WHO.reset(token)


@BOTH
def test_a_hook_may_approve_edit_and_deny(backend: ScriptedServer, run: Runner) -> None:
    made = calls(*(("wait", {"name": name, "seconds": 0}) for name in "abc"))
    backend.use("std", [made, "Done."])

    def approve(call: Any) -> Any:
        decisions: dict[str, Any] = {"a": True, "b": {"name": "B", "seconds": 0}, "c": False}
        return decisions[call.arguments["name"]]

    assert [text.splitlines()[-1] for text in texts(run(backend.url, approve=approve))] == [
        "a", "B", "Error: the user did not allow this call",
    ]  # fmt: skip


@BOTH
def test_a_hook_may_be_async(backend: ScriptedServer, run: Runner) -> None:
    async def approve(call: Any) -> bool:
        await asyncio.sleep(0)
        return bool(call.name == "whoami")

    backend.use("std", [calls(("whoami", {}), ("fail", {"text": "x"})), "Done."])
    assert [one.result.is_error for one in run(backend.url, approve=approve).calls] == [False, True]


def test_a_sync_run_works_inside_a_running_event_loop(backend: ScriptedServer) -> None:
    """As in a notebook."""

    async def approve(call: Any) -> bool:
        return bool(call.name)

    async def cell() -> RunResult:
        return sync_run(backend.url, approve=approve)

    backend.use("std", [calls(("await_it", {"name": "a", "seconds": 0})), "Done."])
    assert texts(asyncio.run(cell())) == ["a"]


@BOTH
def test_events_come_as_things_happen(backend: ScriptedServer, run: Runner) -> None:
    script = [
        calls(("wait", {"name": "a"}), ("whoami", {})),
        {"text": "Done now.", "reasoning": "Hm"},
    ]
    backend.use("std", script)
    seen: list[Event] = []
    run(backend.url, stream=True, on_event=seen.append)
    finished = [event.call.name for event in seen if isinstance(event, CallFinished)]
    assert finished == ["whoami", "wait"], "in the order in which they finish"
    assert sum(isinstance(event, CallStarted) for event in seen) == 2
    assert "".join(e.text for e in seen if isinstance(e, TextDelta)) == "Done now."
    assert "".join(e.text for e in seen if isinstance(e, ReasoningDelta)) == "Hm"
    assert isinstance(seen[-1], RunFinished)


def test_steps_can_be_watched_and_left(backend: ScriptedServer, client: Client) -> None:
    backend.use("std", [calls(("spin", {"name": "a"})), "Done."])
    with client.steps("Go.", tools=TOOLS) as run:
        for event in run:
            if isinstance(event, CallStarted):
                break
        run.close()
        with pytest.raises(RuntimeError, match="stopped before its end"):
            _ = run.result
    assert len(backend.requests) == 1


def test_an_async_run_that_is_cancelled_stops_its_tools(backend: ScriptedServer) -> None:
    made = calls(("spin", {"name": "a"}), ("await_it", {"name": "b", "seconds": 60}))
    backend.use("std", [made, "Done."])

    async def main() -> None:
        async with AsyncClient(backend.url, model="scripted") as client:
            task = asyncio.create_task(client.run("Go.", tools=TOOLS))
            await asyncio.to_thread(backend.wait_for, lambda: {"begin a", "begin b"} <= set(LOG))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert "cancelled b" in LOG

    asyncio.run(main())
    backend.wait_for(lambda: "stopped a" in LOG)
    assert len(backend.requests) == 1


def test_a_cancelled_request_is_closed(backend: ScriptedServer) -> None:
    backend.use("hang_first", ["Done."])

    async def main() -> None:
        async with AsyncClient(backend.url, model="scripted") as client:
            task = asyncio.create_task(client.run("Go.", tools=TOOLS))
            await asyncio.to_thread(backend.wait_for, lambda: backend.requests)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    backend.wait_for(lambda: backend.requests[0].closed_at)


PROGRAM = """
import asyncio, sys, time
from toolwire import Client, tool

@tool
def spin() -> str:
    try:
        print("spinning", flush=True)
        while True:
            time.sleep(0.01)
    finally:
        print("stopped sync", flush=True)

@tool
async def sleep() -> str:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("stopped async", flush=True)
        raise

try:
    Client(sys.argv[1], model="m").run("Go.", tools=[spin, sleep])
except KeyboardInterrupt:
    time.sleep(0.3)
    print("interrupted", flush=True)
"""


def test_ctrl_c_stops_the_tools_of_a_sync_program(backend: ScriptedServer) -> None:
    backend.use("std", [calls(("sleep", {}), ("spin", {})), "Done."])
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, backend.url], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "spinning\n"
        os.kill(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    # Two threads print, so that one may write before the other has ended its line.
    assert all(said in rest for said in ("stopped sync", "stopped async", "interrupted"))
    assert process.returncode == 0


def test_ctrl_c_ends_a_program_whose_tool_cannot_be_stopped(backend: ScriptedServer) -> None:
    """A tool that hangs outside Python does not keep the program alive."""
    stuck = PROGRAM.replace("time.sleep(0.01)", "time.sleep(600)")
    backend.use("std", [calls(("spin", {})), "Done."])
    process = subprocess.Popen(
        [sys.executable, "-c", stuck, backend.url], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "spinning\n"
        os.kill(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert "interrupted" in rest


def test_a_definition_without_a_function_cannot_be_run(client: Client) -> None:
    with pytest.raises(ConfigurationError, match="'f' is a definition without a function"):
        client.run("Go.", tools=[{"type": "function", "function": {"name": "f"}}])


def test_a_conversation_goes_on(backend: ScriptedServer, client: Client) -> None:
    backend.use("std", [calls(("whoami", {})), "Done.", "Still here."])
    first = client.run("Go.", tools=TOOLS)
    second = client.run([*first.messages, {"role": "user", "content": "And?"}], tools=TOOLS)
    assert str(second) == "Still here."
    roles = [m["role"] for m in backend.requests[-1].json["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_without_tools_a_run_is_one_answer(backend: ScriptedServer, client: Client) -> None:
    backend.use("std", ["Hello."])
    assert str(client.run("Go.", limits=Limits(turns=1))) == "Hello."
    assert "tool_choice" not in backend.requests[0].json


def test_awaitables_of_a_plain_function_are_awaited(backend: ScriptedServer) -> None:
    async def later(name: str) -> str:
        await asyncio.sleep(0)
        return name

    @tool
    def hidden(name: str) -> Any:
        """Return a coroutine."""
        return later(name)

    backend.use("std", [calls(("hidden", {"name": "x"})), "Done."])
    with Client(backend.url, model="m") as client:
        assert texts(client.run("Go.", tools=[hidden])) == ["x"]

    async def main() -> None:
        async with AsyncClient(backend.url, model="m") as client:
            assert texts(await client.run("Go.", tools=[hidden])) == ["x"]

    asyncio.run(main())


def test_importing_the_package_loads_no_client_and_no_http() -> None:
    code = "import sys, toolwire.formats; print({'httpx2', 'toolwire.client'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    code = "import sys, toolwire; toolwire.tool; print({'httpx2', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_missing_http_package_is_said_with_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "httpx2.py").write_text("raise ModuleNotFoundError('no', name='httpx2')")
    code = (
        "import toolwire\ntry: toolwire.Client()\n"
        "except toolwire.client.MissingPackage as e: print(e)"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout == (
        "httpx2 is not installed. Run: pip install '.[client]' in a clone of Toolwire\n"
    )
