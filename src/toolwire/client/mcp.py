"""Tools of MCP servers. Requires the extra `mcp`.

The session runs in an event loop in a thread, so sync and async programs use it the same way.
"""

import asyncio
import base64
import contextlib
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self

from toolwire.client.errors import ConnectionFailed, MissingPackage, ToolError
from toolwire.client.running.results import Image
from toolwire.client.running.workers import LoopThread
from toolwire.client.tools.tool import Tool
from toolwire.client.tools.toolbox import AnyTool

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")
_CONNECT_SECONDS = 60.0


def load_mcp() -> Any:
    """Import the official package on first use."""
    try:
        import mcp  # noqa: PLC0415 - it takes a second
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise MissingPackage("mcp", "mcp") from None
    return mcp


class MCPServer:
    """A connection to an MCP server. Pass it to a run or a toolbox, or use its `tools`.

    with MCPServer.stdio("uvx", "mcp-server-time") as server:
        client.run("What time is it in Tokyo?", tools=[server])
    """

    def __init__(self, connect: Any, shown: str) -> None:
        """Use `stdio` or `http` instead. `connect` opens the transport of the official client."""
        self._connect = connect
        self._shown = shown
        self._loop: LoopThread | None = None
        self._session: Any = None
        self._stop: asyncio.Event | None = None
        self._over: Future[None] | None = None
        self._tools: list[AnyTool] = []

    @classmethod
    def stdio(
        cls, command: str, *args: str, env: Mapping[str, str] | None = None, cwd: str | None = None
    ) -> Self:
        """Start a server as a subprocess, and connect over its standard input and output."""
        mcp = load_mcp()

        async def connect(_: contextlib.AsyncExitStack) -> Any:
            given = dict(env) if env else None
            return mcp.StdioServerParameters(command=command, args=list(args), env=given, cwd=cwd)

        return cls(connect, " ".join((command, *args)))

    @classmethod
    def http(cls, url: str, *, headers: Mapping[str, str] | None = None) -> Self:
        """Connect to a server at a URL (streamable HTTP)."""
        load_mcp()

        async def connect(stack: contextlib.AsyncExitStack) -> Any:
            if not headers:
                return url
            import httpx2  # noqa: PLC0415 - the mcp package needs it too
            from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

            http = httpx2.AsyncClient(headers=dict(headers), timeout=_CONNECT_SECONDS)
            await stack.enter_async_context(http)
            return streamable_http_client(url, http_client=http)

        return cls(connect, url)

    @property
    def tools(self) -> Sequence[AnyTool]:
        """The server's tools."""
        if self._loop is None:
            raise ConnectionFailed(
                f"The MCP server {self._shown} is not connected. Use it in a `with` block."
            )
        return self._tools

    def open(self) -> Self:
        """Connect, and list the tools."""
        self._loop = LoopThread()
        ready: Future[list[Any]] = Future()
        self._over = self._loop.submit(self._serve(ready))
        try:
            listed = ready.result(timeout=_CONNECT_SECONDS)
        except TimeoutError:
            self.close()
            raise ConnectionFailed(f"The MCP server {self._shown} does not answer.") from None
        except BaseException:
            self.close()
            raise
        self._tools = [self._tool(one) for one in listed]
        return self

    def close(self) -> None:
        """Close the session, and stop the server if it is a subprocess."""
        if self._loop is None:
            return
        if self._over is not None and not self._over.done():
            self._loop.run(self._end())
        self._loop.close()
        self._loop = None

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.open)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    async def _serve(self, ready: "Future[list[Any]]") -> None:
        """Run the whole session in one task, as the official client requires."""
        mcp = load_mcp()
        self._stop = asyncio.Event()
        try:
            async with contextlib.AsyncExitStack() as stack:
                session = mcp.Client(await self._connect(stack))
                self._session = await stack.enter_async_context(session)
                ready.set_result(await _listed(session))
                await self._stop.wait()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - whatever its transports raise
            if not ready.done():
                ready.set_exception(
                    ConnectionFailed(
                        f"Could not connect to the MCP server {self._shown}: {_reason(error)}"
                    )
                )

    async def _end(self) -> None:
        if self._stop is not None:
            self._stop.set()
        if self._over is not None:
            await asyncio.wait([asyncio.wrap_future(self._over)], timeout=5)

    def _tool(self, listed: Any) -> AnyTool:
        async def call(**arguments: Any) -> Any:
            if self._loop is None:
                raise ToolError("the connection to the tool's server is closed")
            work = self._loop.submit(self._session.call_tool(listed.name, arguments))
            return told(await asyncio.wrap_future(work))

        return Tool(
            function=call,
            name=_UNSAFE.sub("_", listed.name)[:64],
            description=listed.description or "",
            parameters={"type": "object", "properties": {}, **listed.input_schema},
        )


def told(result: Any) -> Any:
    """Convert an MCP result: text, or text and images. Raises if it is an error."""
    parts: list[Any] = []
    for block in result.content:
        if block.type == "text":
            parts.append(block.text)
        elif block.type == "image":
            parts.append(Image(base64.b64decode(block.data), block.mime_type))
        else:
            parts.append(block.model_dump_json(by_alias=True, exclude_none=True))
    texts = [part for part in parts if isinstance(part, str)]
    if result.is_error:
        raise ToolError("\n".join(texts) or "the tool failed")
    if not parts and result.structured_content is not None:
        return result.structured_content
    return parts if len(texts) < len(parts) else "\n".join(texts)


async def _listed(session: Any) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = await session.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return found


def _reason(error: BaseException) -> str:
    """Return the first real exception inside exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
