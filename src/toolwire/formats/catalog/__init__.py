"""The table of all formats, by name and by the names that other inference engines use."""

from toolwire.formats.catalog import (
    head_family,
    json_family,
    keyed_family,
    message_family,
    python_family,
    tagged_family,
)
from toolwire.formats.record import Format

_FAMILIES = (
    json_family,
    head_family,
    python_family,
    tagged_family,
    keyed_family,
    message_family,
)

FORMATS: dict[str, Format] = {
    record.name: record
    for family in _FAMILIES
    for record in vars(family).values()
    if isinstance(record, Format)
}
ALIASES: dict[str, str] = {
    alias: record.name for record in FORMATS.values() for alias in record.aliases
}


def names() -> tuple[str, ...]:
    """Return the names of all formats."""
    return tuple(FORMATS)


def get(name: str | Format) -> Format:
    """Return the format with that name or alias. Raises `KeyError` with the list of names."""
    if isinstance(name, Format):
        return name
    record = FORMATS.get(ALIASES.get(name, name))
    if record is None:
        raise KeyError(f"no format is called {name!r}; there are: {', '.join(sorted(FORMATS))}")
    return record
