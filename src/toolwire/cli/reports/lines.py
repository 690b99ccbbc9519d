"""JSON lines: read from a stream in blocks, and parsed one by one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedIOBase
from typing import Any

import msgspec

from toolwire.cli.reports.parse import result_of
from toolwire.formats import AUTO, InvalidTool, extract, get
from toolwire.formats.tools.given_tools import tools_of
from toolwire.protocol.tools import ToolSpec


@dataclass(frozen=True, slots=True)
class ParsedLines:
    """Some lines, parsed: what to write, how many they were, and which were bad (from 0)."""

    output: bytes
    count: int
    size: int
    errors: tuple[tuple[int, str], ...] = ()


class BadLine(ValueError):
    """A line that cannot be used."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A stream in blocks of whole lines, as they come.

    One read at a time: a Ctrl-C between two of them would be heard only after the second, and that
    may never end.
    """

    stream: BufferedIOBase
    size: int

    def __iter__(self) -> Iterator[bytes]:
        begun: list[bytes] = []
        while block := self.stream.read1(self.size):
            whole, newline, rest = block.rpartition(b"\n")
            if newline:
                yield b"".join((*begun, whole, newline))
                begun.clear()
            begun.append(rest)
        if last := b"".join(begun):
            yield last


@dataclass(frozen=True, slots=True)
class LineParser:
    """Parses lines with a format and tools, unless a line brings its own."""

    format: str
    tools: tuple[ToolSpec, ...]

    def parse_block(self, block: bytes) -> ParsedLines:
        """Parse some lines."""
        lines = block.removesuffix(b"\n").split(b"\n")
        out: list[bytes] = []
        errors: list[tuple[int, str]] = []
        for number, line in enumerate(lines):
            try:
                out.append(msgspec.json.encode(self._parse(line)))
            except BadLine as error:
                errors.append((number, str(error)))
                given = line.decode("utf-8", "backslashreplace")
                out.append(msgspec.json.encode({"error": str(error), "input": given}))
        return ParsedLines(b"\n".join(out) + b"\n", len(lines), len(block), tuple(errors))

    def _parse(self, line: bytes) -> dict[str, Any]:
        members = _members(line)
        text = _own(members, "text", str)
        tools = _tools(bytes(members["tools"])) if "tools" in members else self.tools
        name = _own(members, "format", str) if "format" in members else self.format
        found = extract(_format(name), text, tools)
        chosen = found.format if name == AUTO else _format(name)
        return {**members, "format": chosen or None, **result_of(found)}


def _members(line: bytes) -> dict[str, msgspec.Raw]:
    """The members of a line, as they are written; a bare string is its text."""
    if not line.strip():
        raise BadLine("the line is empty")
    if line.lstrip().startswith(b'"'):
        return {"text": msgspec.Raw(line)}
    try:
        line.decode()  # members are passed on unread, and must not spoil the output
        return _OBJECT.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadLine(f"not a string, and not an object: {error}") from None


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _own(members: Mapping[str, msgspec.Raw], key: str, kind: Any) -> Any:
    """A member of the line, decoded."""
    if key not in members:
        raise BadLine(f"there is no {key!r} in it")
    try:
        return msgspec.json.decode(members[key], type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadLine(f"{key}: {error}") from None


def _format(name: str) -> str:
    try:
        return name if name == AUTO else get(name).name
    except KeyError:
        raise BadLine(f"no format is called {name!r}") from None


@lru_cache(maxsize=256)
def _tools(written: bytes) -> tuple[ToolSpec, ...]:
    """The tools of a line. Recorded turns repeat the same ones in every line."""
    try:
        return tools_of(_own({"tools": msgspec.Raw(written)}, "tools", Any))
    except InvalidTool as error:
        raise BadLine(f"tools: {error}") from None
