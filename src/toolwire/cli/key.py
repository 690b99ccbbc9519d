"""`toolwire key`: create an API key for a client."""

import json

import click

from toolwire.cli.usage_error import UsageError
from toolwire.server.access.auth import hash_key, new_key
from toolwire.server.config.values import label


@click.command("key", short_help="Create an API key for a client.")
@click.argument("name", default="client")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: name, key, sha256.")
def command(name: str, *, as_json: bool) -> None:
    """Create an API key for a client, and print the lines to add to toolwire.toml."""
    try:
        label(name)
    except ValueError as error:
        raise UsageError(f"the name of a key cannot be {name!r}: {error}.") from None
    plain = new_key()
    digest = hash_key(plain)
    if as_json:
        click.echo(json.dumps({"name": name, "key": plain, "sha256": digest}))
        return
    click.echo(f"Key, shown only now:  {plain}\n")
    click.echo(f"Add to toolwire.toml:\n\n[[keys]]\nname = {json.dumps(name)}")
    click.echo(f'sha256 = "{digest}"')
