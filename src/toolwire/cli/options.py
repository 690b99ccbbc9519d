"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import click

Decorator: TypeAlias = Callable[[Any], Any]


def with_options(*options: Decorator) -> Decorator:
    """Return a decorator that adds these options to a command, in this order."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def tools_option(*, required: bool = False) -> Decorator:
    """Return the option for files of tools: see `load_tools`."""
    return click.option(
        "--tools",
        "files",
        metavar="FILE",
        type=click.Path(path_type=Path),
        multiple=True,
        required=required,
        help="Python file with functions marked with @tool. May be given several times.",
    )
