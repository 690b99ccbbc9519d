"""Rows as plain lines: for pipes and files, where nothing may be cut off or wrapped."""

import sys
from collections.abc import Iterator, Sequence


def is_piped() -> bool:
    """Whether standard output is read by a program."""
    return not sys.stdout.isatty()


def in_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows, each column as wide as its widest cell, the last as long as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row[:-1], widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()
