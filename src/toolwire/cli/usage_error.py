"""Usage errors: one line that says what is wrong and what to do. Exit code 2."""

import click

from toolwire.formats import Format, get, names
from toolwire.spelling import close_matches


class UsageError(click.ClickException):
    """The command was called with invalid arguments or input."""

    exit_code = 2


def known_format(name: str) -> Format:
    """The format with that name or alias, or an error with a suggestion."""
    try:
        return get(name)
    except KeyError:
        every = [alias for n in names() for alias in (n, *get(n).aliases)]
        near = close_matches(name.lower().replace("-", "_"), every, n=1)
        hint = f"Did you mean {near[0]}?" if near else "`toolwire formats` lists them."
        raise UsageError(f"no format is called {name!r}. {hint}") from None
