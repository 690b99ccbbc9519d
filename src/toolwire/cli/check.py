"""`toolwire check`: is the configuration valid, and does every backend answer?"""

import json
import sys
from pathlib import Path
from typing import Any

import click

from toolwire.cli.configuration import load_configuration, with_configuration
from toolwire.cli.embedded import embedded_engine
from toolwire.server.check import check_backends


@click.command("check", short_help="Try the configuration and its backends.")
@with_configuration
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(path: Path | None, *, as_json: bool, **flags: Any) -> None:
    """Check the configuration, and try each backend, with one harmless tool call.

    The exit code is 1 if the configuration is invalid or a backend does not work.
    """
    config = load_configuration(path, flags, as_json=as_json)
    if not as_json:
        click.echo("The configuration is valid.")
        for route in config.models:
            if route.aliases:
                click.echo(f"     {route.name}: also {', '.join(route.aliases)}")
    with embedded_engine(config) as engine:
        results = list(check_backends(config, engine))
    if as_json:
        told = [{"backend": r.backend, "ok": r.ok, "text": r.text} for r in results]
        click.echo(json.dumps({"valid": True, "errors": [], "backends": told}, indent=2))
    else:
        for result in results:
            click.echo(str(result), err=not result.ok)
    sys.exit(0 if all(result.ok for result in results) else 1)
