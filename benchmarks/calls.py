"""What a request costs in Python calls: `python benchmarks/calls.py [--where]`.

Counts the Python functions that are entered, and the blocks of memory that stay in use, on the way
from the bytes of a backend's answer to the bytes that the client is sent: per chunk of native
arguments, per word of text, and per whole request. The application, the backend, the stages, the
surface and the exchange are real; the two sockets, with HTTP on them, are not. Unlike times, calls
are the same in every run with the same Python. `--where` lists the functions. A call is held
until it is complete, unless the client shows arguments as they arrive: those chunks are `live`.
"""

import argparse
import asyncio
import gc
import io
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import toolwire
from toolwire.backends.http import Head
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.server.app import App
from toolwire.server.config.settings import BackendConfig, Config, RouteConfig
from toolwire.server.http.exchange import HttpExchange
from toolwire.server.telemetry.logs import Logs
from toolwire.server.telemetry.redact import Redactor
from toolwire.surfaces.exchange import HttpRequest

ROOT = str(Path(toolwire.__file__).parent)
TOOL = {
    "type": "function",
    "function": {
        "name": "write_file",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"],
        },
    },
}
CHUNKS = 1000
WARM = 20
"""Chunks before the first that is counted: what happens once in a stream has happened by then."""
NOTHING = nullcontext()
Each = Callable[[int], AbstractContextManager[None]]


@dataclass
class Cost:
    """What `times` chunks or requests cost together."""

    times: int
    calls: Counter[CodeType] = field(default_factory=Counter)
    kept: int = 0
    """Blocks of memory that were taken and not given back."""

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what is entered of ours, and not what the collector finds of others."""
        collecting = gc.isenabled()
        gc.disable()
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)
            if collecting:
                gc.enable()

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            self.calls[frame.f_code] += 1


class Wire:
    """Both sockets: the backend's, which says what it is told to, and the client's.

    What is done with each block happens within the context that `each` gives for it.
    """

    paused = False
    transport = object()

    def __init__(self, blocks: list[bytes], each: Each = lambda _: NOTHING) -> None:
        self.head = Head(200, {b"content-type": b"text/event-stream"})
        self.blocks = blocks
        self.each = each
        self.written: list[bytes] = []

    async def relay(self, listener: Callable[[bytes], None]) -> None:
        for number, block in enumerate(self.blocks):
            with self.each(number):
                listener(block)

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def enough(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def abort(self) -> None: ...


class Pool:
    """A pool of one connection."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    async def send(self, _head: bytes, _body: object) -> Wire:
        return self.wire

    def release(self, _connection: Wire) -> None: ...
    def close(self) -> None: ...


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def call(arguments: str, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": "write_file"} if more else {})}
    return {"tool_calls": [{"index": 0, **more, "function": function}]}


def arguments_stream(count: int) -> list[bytes]:
    pieces = [chunk(call("word ")) for _ in range(count)]
    first = [chunk(call("", id="call_1", type="function")), chunk(call('{"path":"a","content":"'))]
    return [*first, *pieces, chunk(call('"}')), chunk({}, "tool_calls"), b"data: [DONE]\n\n"]


def text_stream(count: int) -> list[bytes]:
    pieces = [chunk({"content": "word "}) for _ in range(count)]
    return [chunk({"role": "assistant", "content": ""}), *pieces, chunk({}, "stop"),
            b"data: [DONE]\n\n"]  # fmt: skip


@dataclass(frozen=True)
class Api:
    """A surface: its path, a request to it, and how a stream of it ends."""

    path: bytes
    body: Callable[[bool], bytes]
    ends: bytes


def chat_body(tools: bool) -> bytes:
    asked: dict[str, Any] = {"model": "m", "stream": True}
    asked["messages"] = [
        {"role": "system", "content": "You write files."},
        {"role": "user", "content": "Write one."},
    ]
    return json.dumps({**asked, "tools": [TOOL]} if tools else asked).encode()


def messages_body(tools: bool) -> bytes:
    asked: dict[str, Any] = {"model": "m", "stream": True, "max_tokens": 1000}
    asked["system"] = "You write files."
    asked["messages"] = [{"role": "user", "content": "Write one."}]
    spec = TOOL["function"]
    tool = {"name": spec["name"], "input_schema": spec["parameters"]}  # type: ignore[index]
    return json.dumps({**asked, "tools": [tool]} if tools else asked).encode()


APIS = {
    "chat": Api(b"/v1/chat/completions", chat_body, b"data: [DONE]\n\n"),
    "messages": Api(b"/v1/messages", messages_body, b'data: {"type":"message_stop"}\n\n'),
}


async def ask(
    app: App,
    wire: Wire,
    content: bytes,
    around: AbstractContextManager[None] = NOTHING,
    *,
    profile: bytes = b"",
) -> None:
    for backend in app.services.backends():
        assert isinstance(backend, OpenAiHttpBackend)
        backend.pool = Pool(wire)  # type: ignore[assignment]
    headers = {b"content-type": b"application/json", b"user-agent": b"benchmark"}
    headers |= {b"toolwire-profile": profile} if profile else {}
    api = APIS["messages" if b"max_tokens" in content else "chat"]
    request = HttpRequest("POST", api.path, headers, content)
    exchange = HttpExchange(wire, request)  # type: ignore[arg-type]
    with around:
        await app(exchange)
    assert wire.written[-1].endswith(api.ends + b"\r\n0\r\n\r\n"), wire.written


async def per_chunk(app: App, blocks: list[bytes], content: bytes, profile: bytes = b"") -> Cost:
    """What the chunks in the middle of a stream cost."""
    first, last = WARM, len(blocks) - 5
    cost = Cost(last - first)
    blocks_at: dict[int, int] = {}

    def weigh(number: int) -> AbstractContextManager[None]:
        if number in (first, last):
            blocks_at[number] = sys.getallocatedblocks()
        return NOTHING

    def count(number: int) -> AbstractContextManager[None]:
        return cost.counting() if first <= number < last else NOTHING

    for each in (weigh, weigh, count):
        await ask(app, Wire(blocks, each), content, profile=profile)
    cost.kept = blocks_at[last] - blocks_at[first]
    return cost


async def per_request(app: App, blocks: list[bytes], content: bytes) -> Cost:
    """What a whole short request costs: the least of three, since a timer may fall into one."""
    for _ in range(3):
        await ask(app, Wire(blocks), content)
    before = sys.getallocatedblocks()
    await ask(app, Wire(blocks), content)
    kept = sys.getallocatedblocks() - before
    costs = [Cost(1, kept=kept) for _ in range(3)]
    for cost in costs:
        await ask(app, Wire(blocks), content, cost.counting())
    return min(costs, key=lambda cost: cost.calls.total())


async def measure(mode: str, surface: str = "chat") -> dict[str, Cost]:
    backend = BackendConfig(name="b", url="http://127.0.0.1:9/v1", dialect="openai")
    route = RouteConfig("m", (backend,), mode=mode)  # type: ignore[arg-type]
    logs = Logs(level=50, as_json=False, redactor=Redactor(), stream=io.StringIO())
    app = App(Config(models=(route,)), logs, clock=time.perf_counter)
    with_tools, plain = (APIS[surface].body(tools) for tools in (True, False))
    short = arguments_stream(4)
    found = {
        "arguments chunk": await per_chunk(app, arguments_stream(CHUNKS), with_tools),
        "arguments chunk, live": await per_chunk(
            app, arguments_stream(CHUNKS), with_tools, profile=b"live"
        ),
        "word of text": await per_chunk(app, text_stream(CHUNKS), with_tools),
        "word, without tools": await per_chunk(app, text_stream(CHUNKS), plain),
        f"request, {len(short)} chunks": await per_request(app, short, with_tools),
    }
    await app.aclose()
    return found


def show(row: str, found: dict[str, Cost], *, where: bool) -> None:
    for name, cost in found.items():
        calls, kept = cost.calls.total() / cost.times, cost.kept / cost.times
        files = len({code.co_filename for code in cost.calls})
        print(f"{row:16} {name:22} {calls:8.1f} {files:6} {kept:6.1f}")
        for code, times in cost.calls.most_common() if where else ():
            path = Path(code.co_filename).relative_to(ROOT)
            print(f"{'':39} {times / cost.times:8.1f}  {path}:{code.co_qualname}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--where", action="store_true", help="list the functions")
    options = parser.parse_args()
    print(f"{'':16} {'per':22} {'calls':>8} {'files':>6} {'kept':>6}")
    for surface, mode in product(APIS, ("native", "hybrid")):
        show(f"{surface} {mode}", asyncio.run(measure(mode, surface)), where=options.where)


if __name__ == "__main__":
    main()
