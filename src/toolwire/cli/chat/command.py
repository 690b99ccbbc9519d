"""`toolwire chat`: talk to a model in the terminal, with tools of a Python file."""

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from toolwire.cli.chat.embedded import embedded_server, is_listening
from toolwire.cli.chat.python_tools import load_tools
from toolwire.cli.chat.screen import Screen
from toolwire.cli.chat.session import ChatSession
from toolwire.cli.options import tools_option
from toolwire.cli.usage_error import UsageError
from toolwire.client.client import Client
from toolwire.client.errors import ClientError
from toolwire.client.mcp import MCPServer
from toolwire.client.settings import LOCAL, find_settings
from toolwire.client.tools.toolbox import Toolbox
from toolwire.client.transport import load_httpx


@click.command("chat")
@click.argument("prompt", required=False)
@tools_option()
@click.option(
    "--mcp",
    "servers",
    metavar="SERVER",
    multiple=True,
    help="MCP server whose tools to use: a URL, or a command. May be given several times.",
)
@click.option("--model", metavar="NAME", help="The model. [default: the server's only one]")
@click.option(
    "--base-url",
    metavar="URL",
    help="The server. [default: TOOLWIRE_BASE_URL, OPENAI_BASE_URL, Toolwire on this machine, "
    "else the embedded model]",
)
@click.option(
    "--api-key-env", metavar="VAR", help="Environment variable that holds the key of the server."
)
@click.option("--system", metavar="TEXT", help="What the model is told first.")
@click.option("--temperature", metavar="X", type=float, help="How freely it chooses its words.")
@click.option("-y", "--yes", is_flag=True, help="Run every call without asking.")
def command(
    prompt: str | None,
    files: tuple[Path, ...],
    servers: tuple[str, ...],
    *,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    system: str | None,
    temperature: float | None,
    yes: bool,
) -> None:
    """Talk to a model, and let it use your tools.

    With PROMPT, answer that and end. Without a server, the embedded model answers: a very small
    one, to try things out.
    """
    key = _key(api_key_env)
    with contextlib.ExitStack() as stack:
        box = load_tools(files)
        try:
            for server in servers:
                box.add(stack.enter_context(_mcp(server)))
            client = stack.enter_context(_client(base_url, key))
            session = ChatSession(
                client,
                model or client.default_model(),
                box,
                Screen(),
                system=system,
                temperature=temperature,
                approves_all=yes,
            )
        except ClientError as error:
            raise click.ClickException(str(error)) from None
        _talk(session, prompt, box)


def _talk(session: ChatSession, prompt: str | None, box: Toolbox) -> None:
    if prompt is not None:
        sys.exit(0 if session.say(prompt) else 1)
    if not sys.stdin.isatty():
        fine = [session.say(line.strip()) for line in sys.stdin if line.strip()]
        sys.exit(0 if all(fine) else 1)
    session.welcome(box)
    session.run()


@contextlib.contextmanager
def _client(base_url: str | None, key: str | None) -> Iterator[Client]:
    """A client of the server that is meant; of the embedded model if none is."""
    with contextlib.ExitStack() as stack:
        url = base_url or find_settings(os.environ).base_url
        if url == LOCAL and base_url is None and not is_listening(LOCAL):
            load_httpx()  # before anything is started, or even fetched, for it
            # On this machine: a proxy of the environment could not reach it.
            own = Client(stack.enter_context(embedded_server()), "", trust_env=False)
            yield stack.enter_context(own)
        else:
            yield stack.enter_context(Client(base_url, key))


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not (key := os.environ.get(variable)):
        raise UsageError(f"the environment variable {variable} of --api-key-env is not set.")
    return key


def _mcp(server: str) -> MCPServer:
    if server.startswith(("http://", "https://")):
        return MCPServer.http(server)
    words = shlex.split(server)
    if not words:
        raise UsageError("--mcp is empty. Give a URL or a command.")
    return MCPServer.stdio(*words)
