"""The command line. Each command is a module that is loaded only when it is called."""

import io
import sys
from importlib import import_module

import click

from toolwire import __version__
from toolwire.cli.loading import uncollected
from toolwire.spelling import close_matches

_COMMANDS = (
    "serve",
    "init",
    "doctor",
    "chat",
    "mcp",
    "check",
    "key",
    "formats",
    "parse",
    "replay",
    "conform",
)
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Commands(click.Group):
    """Finds a command's file by its name, so that `serve` does not load what `parse` needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        with uncollected():
            command: click.Command = import_module(f"toolwire.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a command for a misspelt one."""
        near = [] if args[0] in _COMMANDS else close_matches(args[0], _COMMANDS, n=1)
        if near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)


@click.command(cls=_Commands, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="toolwire")
def main() -> None:
    """Toolwire makes tool calling work between any client and any model.

    \b
    toolwire serve                                       try it, with a very small model
    toolwire serve --upstream http://localhost:8000/v1   put it in front of your server
    toolwire doctor http://localhost:8000/v1             find out why there are no calls
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Model output may have characters that the locale of the terminal cannot encode.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
