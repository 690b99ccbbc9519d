"""`toolwire key`: create an API key for a client."""

import click

from toolwire.server.auth import hash_key, new_key


@click.command("key")
@click.argument("name", default="client")
def command(name: str) -> None:
    """Create an API key for a client, and print the lines to add to toolwire.toml."""
    plain = new_key()
    click.echo(f"Key, shown only now:  {plain}\n")
    click.echo(f'Add to toolwire.toml:\n\n[[keys]]\nname = "{name}"\nsha256 = "{hash_key(plain)}"')
