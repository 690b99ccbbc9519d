"""`toolwire key`: make an API key for a client."""

import click

from toolwire.server.auth import hash_key, new_key


@click.command("key")
@click.argument("name", default="client")
def command(name: str) -> None:
    """Make an API key for a client, and the lines for toolwire.toml that let it in."""
    plain = new_key()
    click.echo(f"Key, shown only now:  {plain}\n")
    click.echo(f'Add to toolwire.toml:\n\n[[keys]]\nname = "{name}"\nsha256 = "{hash_key(plain)}"')
