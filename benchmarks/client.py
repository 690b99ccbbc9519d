"""What the Python client costs, beside the openai package and pydantic-ai, in one run.

Each subject is a process of its own against the same mock server; rounds take turns, and the
median over the rounds counts. CPU time, not wall time, so that a busy machine matters little.
Exits with 1 when a bar is missed.

    python benchmarks/client.py [--rounds N] [--json FILE]

pydantic-ai is measured if it is installed: python -m tests.e2e.clients.install pydantic-ai
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYDANTIC_AI = ROOT / ".cache" / "clients" / "pydantic-ai" / "bin" / "python"
REQUESTS = 200
CHUNKS, STREAMS, PACE = 200, 3, 0.002
TOOL_SECONDS = 0.1
MESSAGES = [{"role": "user", "content": "Hello."}]
IMPORTS = {
    "httpx2 alone": "import httpx2",
    "toolwire": "from toolwire import Client, tool; Client('http://127.0.0.1:9')",
    "openai": "from openai import OpenAI; OpenAI(base_url='http://127.0.0.1:9', api_key='k')",
    "pydantic-ai": "from pydantic_ai import Agent; "
    "from pydantic_ai.models.openai import OpenAIChatModel",
}
CHILD_CPU = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1]])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print((used.ru_utime + used.ru_stime) * 1e3)
"""
BARS = {"three tools": 0.40, "fifty tools": 0.10}
"""Of the time of the same calls one after the other."""


# The mock server: one answer whole, or in chunks, one write each.


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [choice]}  # fmt: skip
    data = b"data: %s\n\n" % json.dumps(body).encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(calls: int) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": "Hello, how are you today?"}
    if calls:
        function = {"name": "wait", "arguments": "{}"}
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": function} for n in range(calls)
        ]
    reason = "tool_calls" if calls else "stop"
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}  # fmt: skip
    data = json.dumps(body).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(data) + data


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            fields = head.lower().split(b"\r\n")
            (size,) = (int(one[15:]) for one in fields if one.startswith(b"content-length:"))
            body = json.loads(await reader.readexactly(size))
            if body.get("stream"):
                await stream(writer)
            else:
                asked = body["messages"][-1]["content"]
                writer.write(whole(int(asked) if str(asked).isdecimal() else 0))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def stream(writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    writer.write(chunk({"role": "assistant", "content": ""}))
    for n in range(CHUNKS):
        await asyncio.sleep(PACE)
        writer.write(chunk({"content": f"word {n} "}))
    writer.write(chunk({}, "stop") + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


async def serve() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
    sys.stdout.flush()
    await server.serve_forever()


# The subjects: (one request, one stream), each in a process of its own.


def httpx_alone(url: str) -> tuple[Callable[[], object], Callable[[], object]]:
    import httpx2  # noqa: PLC0415

    client = httpx2.Client()
    body = {"model": "m", "messages": MESSAGES}

    def one() -> object:
        return client.post(f"{url}/chat/completions", json=body).json()

    def streamed() -> object:
        with client.stream("POST", f"{url}/chat/completions", json={**body, "stream": True}) as got:
            return sum(len(block) for block in got.iter_bytes())

    return one, streamed


def toolwire(url: str) -> tuple[Callable[[], object], Callable[[], object]]:
    from toolwire import Client  # noqa: PLC0415

    client = Client(url, model="m")

    def streamed() -> object:
        return sum(len(text) for text in client.chat(MESSAGES, stream=True).text())

    return lambda: client.chat(MESSAGES).text, streamed


def openai(url: str) -> tuple[Callable[[], object], Callable[[], object]]:
    from openai import OpenAI  # noqa: PLC0415

    create: Any = OpenAI(base_url=url, api_key="k").chat.completions.create

    def streamed() -> object:
        chunks = create(model="m", messages=MESSAGES, stream=True)
        return sum(len(c.choices[0].delta.content or "") for c in chunks)

    return lambda: create(model="m", messages=MESSAGES).choices[0].message.content, streamed


def pydantic_ai(url: str) -> tuple[Callable[[], object], Callable[[], object]]:
    from pydantic_ai import Agent  # noqa: PLC0415
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="k")))
    loop = asyncio.new_event_loop()

    async def read() -> int:
        async with agent.run_stream("Hello.") as result:
            return sum(
                [len(text) async for text in result.stream_text(delta=True, debounce_by=None)]
            )

    def one() -> object:
        return loop.run_until_complete(agent.run("Hello.")).output

    return one, lambda: loop.run_until_complete(read())


SUBJECTS = {
    "httpx2 alone": httpx_alone,
    "toolwire": toolwire,
    "openai": openai,
    "pydantic-ai": pydantic_ai,
}


def work(name: str, url: str) -> None:
    """In the subject's process: microseconds of CPU per request and per paced chunk."""
    one, streamed = SUBJECTS[name](url)
    for _ in range(5):
        one()
    streamed()
    figures = {"request": cpu(one, REQUESTS) / REQUESTS, "chunk": cpu(streamed, STREAMS)}
    figures["chunk"] /= STREAMS * CHUNKS
    sys.stdout.write(json.dumps(figures))


def cpu(do: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        do()
    return (time.process_time() - began) * 1e6


def tools(url: str) -> dict[str, float]:
    """The time of calls at once, over the time of the same calls one after the other."""
    from toolwire import Client, tool  # noqa: PLC0415

    @tool
    def wait() -> str:
        """Wait."""
        time.sleep(TOOL_SECONDS)
        return "done"

    @tool(name="wait")
    async def wait_async() -> str:
        """Wait."""
        await asyncio.sleep(TOOL_SECONDS)
        return "done"

    client = Client(url, model="m")
    found = {}
    for label, used in (("", wait), (" (async)", wait_async)):
        for words, count in (("three tools", 3), ("fifty tools", 50)):
            client.run("1", tools=[used])
            began = time.perf_counter()
            assert len(client.run(str(count), tools=[used]).calls) == count
            found[words + label] = (time.perf_counter() - began) / sequential(client, count, wait)
    return found


def sequential(client: Any, count: int, tool: Any) -> float:
    """The loop as it is usually written: one call after the other. Long ones are not waited for."""
    began = time.perf_counter()
    answer = client.chat(str(count), tools=[tool])
    messages: list[Any] = [{"role": "user", "content": str(count)}, answer.message]
    for call in answer.tool_calls[:3]:
        result = tool.invoke(call.function.arguments)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    client.chat(messages, tools=[tool])
    return time.perf_counter() - began + max(0, count - 3) * TOOL_SECONDS


# The run.


def measure(python: Path, *arguments: str) -> Any:
    command = [str(python), __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout)


def import_cpu(python: Path, code: str) -> float:
    """Milliseconds of CPU of a process that does this, beyond one that does nothing."""
    found = [
        float(
            subprocess.run(
                [str(python), "-c", CHILD_CPU, text], capture_output=True, text=True, check=True
            ).stdout
        )
        for text in (code, "pass")
    ]
    return found[0] - found[1]


def rounds(url: str, count: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(count):
        for name in SUBJECTS:
            python = PYDANTIC_AI if name == "pydantic-ai" else Path(sys.executable)
            if not python.exists():
                continue
            figures = measure(python, "--work", name, url)
            figures["import"] = import_cpu(python, IMPORTS[name])
            for key, value in figures.items():
                found.setdefault(name, {}).setdefault(key, []).append(value)
    return {
        name: {key: statistics.median(values) for key, values in figures.items()}
        for name, figures in found.items()
    }


def show(costs: dict[str, dict[str, float]], at_once: dict[str, float]) -> bool:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    console = Console(width=100)
    table = Table("", "us/request", "us/paced chunk", "ms to import", title="CPU of the client")
    for name, figures in costs.items():
        row = (f"{figures[key]:.0f}" for key in ("request", "chunk", "import"))
        table.add_row(name, *row)
    console.print(table)
    table = Table("", "of the sequential time", "bar", title="Calls at once")
    fine = True
    for name, ratio in at_once.items():
        bar = BARS[name.removesuffix(" (async)")]
        fine &= ratio <= bar
        table.add_row(name, f"{ratio:.0%}", f"{bar:.0%}{'' if ratio <= bar else '  MISSED'}")
    console.print(table)
    for key in ("request", "chunk", "import"):
        for name in ("openai", "pydantic-ai"):
            fine &= name not in costs or costs["toolwire"][key] <= costs[name][key]
    return fine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    if options.work:
        work(*options.work)
        return
    mock = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert mock.stdout is not None
        url = mock.stdout.readline().strip()
        costs, at_once = rounds(url, options.rounds), tools(url)
    finally:
        mock.kill()
        mock.wait()
    if options.json:
        options.json.write_text(json.dumps({"costs": costs, "at once": at_once}, indent=1))
    sys.exit(0 if show(costs, at_once) else 1)


if __name__ == "__main__":
    main()
