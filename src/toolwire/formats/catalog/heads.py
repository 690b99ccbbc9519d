"""The headers of calls, for formats that write more in them than a tool's name."""

import msgspec

from toolwire.formats.engines.head_json import CallHeader, plain_name

_TYPE = "function"


class IdBehind(msgspec.Struct, frozen=True):
    """`NAME MARKER ID`."""

    marker: str

    @property
    def fields(self) -> tuple[str, ...]:
        """See `HeadParser.fields`."""
        return (self.marker,)

    def parse(self, text: str) -> CallHeader:
        """See `HeadParser.parse`."""
        name, _, wire_id = text.partition(self.marker)
        return plain_name(name), wire_id.strip() or None


class IdBefore(msgspec.Struct, frozen=True):
    """`ID MARKER NAME`."""

    marker: str

    @property
    def fields(self) -> tuple[str, ...]:
        """See `HeadParser.fields`."""
        return (self.marker,)

    def parse(self, text: str) -> CallHeader:
        """See `HeadParser.parse`."""
        written, _, name = text.rpartition(self.marker)
        wire_id = plain_name(written)
        if wire_id is None and written.strip():
            return None, None
        return plain_name(name), wire_id


class TypeBefore(msgspec.Struct, frozen=True):
    """`TYPE MARKER NAME`, or `NAME MARKER`: the type of the call may be missing, or the name."""

    fields: tuple[str, ...]

    def parse(self, text: str) -> CallHeader:
        """See `HeadParser.parse`."""
        marker = next((one for one in self.fields if one in text), self.fields[0])
        first, _, second = text.partition(marker)
        written = second if second.strip() else first
        return ("" if written.strip() in ("", _TYPE) else plain_name(written)), None


class NumberedName(msgspec.Struct, frozen=True):
    """`functions.NAME:NUMBER`, which is also the id. A number or a foreign id names no tool."""

    fields: tuple[str, ...] = ()

    def parse(self, text: str) -> CallHeader:
        """See `HeadParser.parse`."""
        wire = text.strip()
        if not wire:
            return "", None
        if "\n" in wire:
            wire = "".join(wire.split())
        name = wire.removeprefix("functions.").rpartition(":")[0] if ":" in wire else wire
        if name.isdecimal() or name.startswith("call_"):
            return "", wire
        named = plain_name(name.removeprefix("functions.")) if plain_name(wire) else None
        return named, None if named is None else wire
