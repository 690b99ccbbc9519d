"""`toolwire mcp`: serve tools of a Python file as an MCP server."""

import asyncio
import socket
from pathlib import Path

import click

from toolwire.cli.chat.python_tools import load_tools
from toolwire.cli.options import tools_option
from toolwire.cli.usage_error import UsageError
from toolwire.client.errors import MissingPackage
from toolwire.client.mcp_serve import mcp_server, serve_http, serve_stdio

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.command("mcp")
@tools_option(required=True)
@click.option("--name", default="toolwire", show_default=True, help="What the server calls itself.")
@click.option(
    "--http",
    "port",
    metavar="PORT",
    type=int,
    help="Serve by HTTP, at /mcp; 0 lets the system choose a port.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address, with --http.")
@click.option("--public", is_flag=True, help="Allow other machines. There are no keys.")
def command(
    files: tuple[Path, ...], name: str, port: int | None, host: str, *, public: bool
) -> None:
    """Serve the tools of a Python file as an MCP server.

    By default to the program that starts it, by standard input and output; with --http to whoever
    can reach the address.
    """
    box = load_tools(files)
    try:
        server = mcp_server(box, name)
    except MissingPackage as error:
        raise UsageError(str(error)) from None
    if port is None:
        asyncio.run(serve_stdio(server))
        return
    with _listen(host, port, public=public) as listener:
        shown = f"[{host}]" if ":" in host else host
        click.echo(
            f"Serving {', '.join(box.names)} at http://{shown}:{listener.getsockname()[1]}/mcp"
        )
        asyncio.run(serve_http(server, listener, host))


def _listen(host: str, port: int, *, public: bool) -> socket.socket:
    if not (public or host in _LOOPBACK):
        raise UsageError(f"{host} is not loopback, and anybody could call the tools. Add --public.")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror or error}."
        ) from None
