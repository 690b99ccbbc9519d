"""The options for the configuration, shared by commands."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from toolwire.backends.dialects import DIALECTS
from toolwire.cli.completion import complete_dialect, complete_format, complete_mode
from toolwire.cli.options import with_options
from toolwire.server.config.loader import Config, ConfigError, load

_DEFAULT_FILE = Path("toolwire.toml")


with_configuration = with_options(
    click.option(
        "-c",
        "--config",
        "path",
        type=click.Path(path_type=Path),
        help="Configuration file. [default: toolwire.toml here, if there is one]",
    ),
    click.option(
        "--upstream",
        metavar="URL",
        multiple=True,
        help="Base URL of an OpenAI-compatible server, such as http://localhost:8000/v1. "
        "May be given several times.",
    ),
    click.option(
        "--upstream-key-env",
        metavar="VAR",
        help="Environment variable that holds the key for --upstream.",
    ),
    click.option(
        "--upstream-dialect",
        metavar="NAME",
        help=f"The kind of server: {', '.join(DIALECTS)}. [default: auto, asks the server]",
        shell_complete=complete_dialect,
    ),
    click.option(
        "--upstream-mode",
        metavar="MODE",
        help="How it is given tools: auto, native, hybrid, or prompted for a server that has "
        "none. [default: auto]",
        shell_complete=complete_mode,
    ),
    click.option(
        "--upstream-format",
        metavar="NAME",
        help="The format of its model's tool calls. [default: detected from the model]",
        shell_complete=complete_format,
    ),
    click.option(
        "--chat-template",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The model's chat template, for an --upstream with only /completions.",
    ),
    click.option(
        "--model-alias",
        metavar="ALIAS=MODEL",
        multiple=True,
        help="Another name for a model, such as 'claude-*=qwen3-coder'. May be given several "
        "times.",
    ),
    click.option(
        "--gguf",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Model file to run inside Toolwire. "
        "[default without --upstream: a very small model, downloaded once]",
    ),
    click.option("--ctx", metavar="N", type=int, help="Context of the embedded model, in tokens."),
    click.option("--threads", metavar="N", type=int, help="Threads for the embedded model."),
)
"""Adds the options for the configuration to a command."""


def load_configuration(
    path: Path | None, flags: dict[str, Any], *, as_json: bool = False
) -> Config:
    """Load the configuration, or exit with everything that is wrong with it."""
    if path is None and _DEFAULT_FILE.is_file():
        path = _DEFAULT_FILE
    try:
        return load(path, env=os.environ, flags=flags)
    except ConfigError as error:
        if as_json:
            wrong = [
                {"file": str(one.path) if one.path else None, "line": one.line, "text": one.message}
                for one in error.errors
            ]
            click.echo(json.dumps({"valid": False, "errors": wrong, "backends": []}, indent=2))
            sys.exit(1)
        raise click.ClickException(str(error)) from None
