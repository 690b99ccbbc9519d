"""MCP: servers' tools take part in a run, and a toolbox is served, by both transports."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
from tests.e2e.python_client.terminal import toolwire
from tests.scripted import ScriptedServer

from toolwire.client import AsyncClient, Client, ConnectionFailed, Toolbox, tool
from toolwire.client.mcp import MCPServer
from toolwire.client.mcp_serve import mcp_server

TOOLS = str(Path(__file__).parent / "my_tools.py")
SERVE = (sys.executable, "-m", "toolwire", "mcp", "--tools", TOOLS)
SCRIPT: list[Any] = [
    {
        "calls": [
            ["get_weather", {"city": "Paris", "days": "2"}], ["fail", {"reason": "no luck"}],
            ["draw", {}], ["get_weather", {"town": "x"}],
        ]
    },
    "Done.",
]  # fmt: skip
RESULTS = [
    "2 sunny day(s) in Paris",
    "Error: no luck",
    "A dot.",
    "Error: the arguments do not fit the tool's parameters. town: there is no such parameter "
    "(there are: city, days). Call it again with arguments that fit.",
]
pytestmark = pytest.mark.timeout(240)  # the package takes seconds to load, and twice


@contextmanager
def http_server() -> Iterator[str]:
    """The URL of `toolwire mcp --http`."""
    process = subprocess.Popen([*SERVE, "--http", "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        yield found[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_tools_of_a_program_take_part_in_a_run(backend: ScriptedServer, client: Client) -> None:
    backend.use("std", SCRIPT)
    with MCPServer.stdio(*SERVE) as server:
        result = client.run("Go.", tools=[server])
    assert [one.result.text for one in result.calls] == RESULTS
    assert result.calls[2].result.images[0].data == b"\x89PNG"
    sent = backend.requests[0].json["tools"]
    assert [one["function"]["name"] for one in sent] == ["get_weather", "fail", "draw", "slow"]


def test_tools_of_a_url_take_part_in_an_async_run(backend: ScriptedServer) -> None:
    backend.use("std", SCRIPT)

    async def main(url: str) -> list[str]:
        async with (
            MCPServer.http(url, headers={"x-team": "a"}) as server,
            AsyncClient(backend.url, model="m") as client,
        ):
            result = await client.run("Go.", tools=[Toolbox(server).without("slow"), extra])
        return [one.result.text for one in result.calls]

    @tool
    def extra() -> str:
        """Another tool."""
        return ""

    with http_server() as url:
        assert asyncio.run(main(url)) == RESULTS


def test_a_toolbox_is_served_to_the_official_client() -> None:
    @tool(exclusive=True, timeout=5)
    def add(a: int, b: int = 1) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    async def main() -> None:
        async with mcp.Client(mcp_server(Toolbox(add), "numbers")) as session:
            (listed,) = (await session.list_tools()).tools
            assert (listed.name, listed.description) == ("add", "Add two numbers.")
            assert listed.input_schema["required"] == ["a", "b"]
            result = await session.call_tool("add", {"a": 2, "b": None})
            assert (result.content[0].text, result.is_error) == ('{"sum":3}', False)  # type: ignore[union-attr]
            unknown = await session.call_tool("subtract", {})
            assert unknown.is_error

    asyncio.run(main())


def test_what_a_tool_prints_does_not_spoil_the_protocol() -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {},
              "clientInfo": {"name": "test", "version": "1"}}  # fmt: skip
    call = {"name": "get_weather", "arguments": {"city": "Paris"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    with subprocess.Popen(
        SERVE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("".join(json.dumps(one) + "\n" for one in asked))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.stderr.read() == "looking it up\n"
    assert answers[1]["result"]["content"][0]["text"] == "1 sunny day(s) in Paris"


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (lambda: MCPServer.stdio("/no/such/program"), "No such file or directory"),
        (lambda: MCPServer.stdio(sys.executable, "-c", "pass"), "closed"),
        (lambda: MCPServer.http("http://127.0.0.1:9/mcp"), "connect"),
    ],
)
def test_a_server_that_is_not_there_is_said(server: Any, why: str) -> None:
    with pytest.raises(ConnectionFailed, match="Could not connect to the MCP server") as caught:
        server().open()
    assert why in str(caught.value)


def test_a_server_that_was_not_opened_is_said() -> None:
    with pytest.raises(ConnectionFailed, match="Use it in a `with` block"):
        _ = MCPServer.http("http://127.0.0.1:9/mcp").tools


def test_tools_of_a_server_are_tools_of_the_chat(backend: ScriptedServer, tmp_path: Path) -> None:
    backend.use("std", [{"calls": [["get_weather", {"city": "Rome", "days": 1}]]}, "Done."])
    command = " ".join(SERVE)
    with toolwire(
        "chat", "--mcp", command, "--base-url", backend.url, "--model", "m", "-y", cache=tmp_path
    ) as terminal:
        assert "4 tools" in terminal.read_turn()
        terminal.type("Go.")
        assert '✓ get_weather(city="Rome", days=1)' in terminal.read_turn()


def test_an_address_of_others_must_be_meant() -> None:
    done = subprocess.run(
        [*SERVE, "--http", "0", "--host", "0.0.0.0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Add --public" in done.stderr
