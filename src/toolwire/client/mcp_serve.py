"""Serves a toolbox as an MCP server, using the official package."""

import asyncio
import base64
import contextlib
import socket
from typing import Any

from toolwire import __version__
from toolwire.client.errors import InvalidArguments, UnknownTool
from toolwire.client.events import Call
from toolwire.client.mcp import load_mcp
from toolwire.client.running.executor import TaskExecutor
from toolwire.client.running.limits import Limits
from toolwire.client.running.loop import Job
from toolwire.client.running.results import CallResult, error_of, unfit_arguments
from toolwire.client.tools.toolbox import Toolbox


def mcp_server(box: Toolbox, name: str = "toolwire", limits: Limits | None = None) -> Any:
    """Return a server (`mcp.server.lowlevel.Server`) for a toolbox."""
    load_mcp()
    from mcp.server.lowlevel import Server  # noqa: PLC0415

    calls = _Calls(box, limits or Limits())
    return Server(
        name, version=__version__, on_list_tools=calls.list_tools, on_call_tool=calls.call_tool
    )


async def serve_stdio(server: Any) -> None:
    """Serve over stdio. The package redirects the output of tools to standard error."""
    from mcp.server.stdio import stdio_server  # noqa: PLC0415

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def serve_http(server: Any, listener: socket.socket, host: str) -> None:
    """Serve over streamable HTTP, at /mcp of a listening socket."""
    import uvicorn  # noqa: PLC0415 - the mcp package needs it too

    config = uvicorn.Config(server.streamable_http_app(host=host), log_level="warning")
    await uvicorn.Server(config).serve(sockets=[listener])


class _Calls:
    def __init__(self, box: Toolbox, limits: Limits) -> None:
        self._box = box
        self._limits = limits
        self._alone = asyncio.Lock()

    async def list_tools(self, _context: Any, _params: Any) -> Any:
        import mcp_types as types  # noqa: PLC0415

        return types.ListToolsResult(
            tools=[
                types.Tool(name=one.name, description=one.description, input_schema=one.parameters)
                for one in self._box
            ]
        )

    async def call_tool(self, _context: Any, params: Any) -> Any:
        import mcp_types as types  # noqa: PLC0415

        result = await self._result(params.name, params.arguments or {})
        # `is_error` already flags the error.
        text = result.text.removeprefix("Error: ") if result.is_error else result.text
        content: list[Any] = [types.TextContent(text=text)]
        for image in result.images:
            data = base64.b64encode(image.data).decode()
            content.append(types.ImageContent(data=data, mime_type=image.media_type))
        return types.CallToolResult(content=content, is_error=result.is_error)

    async def _result(self, name: str, arguments: dict[str, Any]) -> CallResult:
        limit = self._limits.result_chars
        try:
            tool = self._box[name]
            job = Job(Call("", name, arguments), tool, tool.convert(arguments))
        except UnknownTool as error:
            return error_of(str(error), limit)
        except InvalidArguments as error:
            return unfit_arguments(error, limit)
        job.seconds = self._limits.tool_seconds if tool.timeout is None else tool.timeout
        async with self._alone if tool.exclusive else contextlib.nullcontext():
            async for _, result in TaskExecutor(limit, 1).run([job]):
                return result
        return error_of("the call was stopped", limit)
