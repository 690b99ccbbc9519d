"""`toolwire check`: is the configuration valid, and does every backend answer?"""

import sys
from pathlib import Path
from typing import Any

import click

from toolwire.cli.configuration import load_configuration, with_configuration
from toolwire.cli.embedded import embedded_engine
from toolwire.server.check import check_backends


@click.command("check")
@with_configuration
def command(path: Path | None, **flags: Any) -> None:
    """Check the configuration, and try each backend, with one harmless tool call."""
    config = load_configuration(path, flags)
    click.echo("The configuration is valid.")
    for route in config.models:
        if route.aliases:
            click.echo(f"     {route.name}: also {', '.join(route.aliases)}")
    failures = 0
    with embedded_engine(config) as engine:
        for finding in check_backends(config, engine):
            click.echo(str(finding), err=not finding.ok)
            failures += not finding.ok
    sys.exit(1 if failures else 0)
