"""How a command refuses: one line that says what is wrong, where, and what to do. Exit code 2."""

from difflib import get_close_matches

import click

from toolwire.formats import Format, get, names


class Complaint(click.ClickException):
    """The command was used wrongly, or what it was given cannot be used."""

    exit_code = 2


def known_format(name: str) -> Format:
    """The format of that name or alias, or a complaint with the nearest one."""
    try:
        return get(name)
    except KeyError:
        every = [alias for n in names() for alias in (n, *get(n).aliases)]
        near = get_close_matches(name.lower().replace("-", "_"), every, n=1)
        hint = f"Did you mean {near[0]}?" if near else "`toolwire formats` lists them."
        raise Complaint(f"no format is called {name!r}. {hint}") from None
