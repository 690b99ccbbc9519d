"""The command line: `toolwire serve`, `toolwire check`, `toolwire key`."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from toolwire import __version__
from toolwire.server.auth import hash_key, new_key
from toolwire.server.config import Config, ConfigError, load, secrets_of

_DEFAULT_FILE = Path("toolwire.toml")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="toolwire")
def main() -> None:
    """Toolwire makes tool calling work between any client and any model."""


def _configuration(command: Any) -> Any:
    """The options that say which configuration is meant."""
    for option in (
        click.option("--upstream-dialect", metavar="NAME", help="What kind of server it is."),
        click.option(
            "--upstream-key-env",
            metavar="VAR",
            help="Environment variable that holds the key for --upstream.",
        ),
        click.option(
            "--upstream",
            metavar="URL",
            multiple=True,
            help="Base URL of an OpenAI-compatible server, such as http://localhost:8000/v1. "
            "May be given several times.",
        ),
        click.option(
            "-c",
            "--config",
            "path",
            type=click.Path(path_type=Path),
            help="Configuration file. [default: toolwire.toml here, if there is one]",
        ),
    ):
        command = option(command)
    return command


def _load(path: Path | None, flags: dict[str, Any]) -> Config:
    if path is None and _DEFAULT_FILE.is_file():
        path = _DEFAULT_FILE
    try:
        return load(path, env=os.environ, flags=flags)
    except ConfigError as error:
        raise click.ClickException(str(error)) from None


@main.command()
@_configuration
@click.option("--host", metavar="ADDRESS", help="Address to listen on. [default: 127.0.0.1]")
@click.option(
    "--port", metavar="N", type=int, help="Port; 0 lets the system choose. [default: 8181]"
)
@click.option("--public", is_flag=True, default=None, help="Allow other machines without keys.")
@click.option("--log-level", metavar="LEVEL", help="debug, info, warning or error.")
@click.option("--log-format", metavar="FORMAT", help="text or json.")
def serve(path: Path | None, **flags: Any) -> None:
    """Start the gateway."""
    config = _load(path, flags)

    import uvloop  # noqa: PLC0415 - only here: --help and errors stay quick

    from toolwire.server.logs import setup  # noqa: PLC0415
    from toolwire.server.serve import serve as run  # noqa: PLC0415

    logs = setup(config.log.level, config.log.format, secrets=secrets_of(config))
    try:
        uvloop.run(run(config, logs, lambda url: click.echo(_welcome(config, url))))
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {config.listen.host} port {config.listen.port}: "
            f"{error.strerror or error}. Choose another with --port."
        ) from None
    except RuntimeError as error:
        # A second Ctrl-C stops the loop under the running server.
        if "Event loop stopped" not in str(error):
            raise
        sys.exit(130)


def _welcome(config: Config, url: str) -> str:
    lines = [f"Toolwire {__version__} listens on {url}", ""]
    for model in config.models:
        name = "any model name" if model.name == "*" else model.name
        lines.append(f"  {name:<24} -> {', '.join(backend.url for backend in model.backends)}")
    named = next((model.name for model in config.models if model.name != "*"), "MODEL")
    key = "one of your client keys" if config.keys else "anything (no client keys are configured)"
    lines += [
        "",
        "  Point Cline here: provider 'OpenAI Compatible',",
        f"    base URL  {url}/v1",
        f"    API key   {key}",
        f"    model     {named}",
        "",
    ]
    return "\n".join(lines)


@main.command()
@_configuration
def check(path: Path | None, **flags: Any) -> None:
    """Check the configuration, and try each backend."""
    flags["upstream"] = list(flags["upstream"])
    config = _load(path, flags)

    from toolwire.server.check import check_backends  # noqa: PLC0415

    click.echo("The configuration is valid.")
    failures = 0
    for finding in check_backends(config):
        click.echo(str(finding), err=not finding.ok)
        failures += not finding.ok
    sys.exit(1 if failures else 0)


@main.command()
@click.argument("name", default="client")
def key(name: str) -> None:
    """Make an API key for a client, and the lines for toolwire.toml that let it in."""
    plain = new_key()
    click.echo(f"Key, shown only now:  {plain}\n")
    click.echo(f'Add to toolwire.toml:\n\n[[keys]]\nname = "{name}"\nsha256 = "{hash_key(plain)}"')
