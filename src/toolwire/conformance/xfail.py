"""The list of cases that may fail: one name per line, `*` as a wildcard, `#` for comments."""

from functools import cache
from pathlib import Path

from toolwire.conformance.faults import InvalidCases


@cache
def read_xfail(path: Path) -> tuple[str, ...]:
    """Return the entries of a list."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidCases(f"cannot read {path}: {error}") from None
    entries = (line.partition("#")[0].strip() for line in lines)
    return tuple(entry for entry in entries if entry)
