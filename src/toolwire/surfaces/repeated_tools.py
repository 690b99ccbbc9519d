"""Reads bodies whose tools an earlier body had, too, without scanning them again.

An agent sends the same 20 kB of tools with every request, usually at the end of the body: only a
few plain parameters follow. To find where they end takes a tenth of the instructions of a request.
To compare them with those of an earlier body takes next to none.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError
from toolwire.protocol.lru import ByteLru
from toolwire.surfaces.json_body import read_members

MemberReader: TypeAlias = Callable[[bytes], dict[str, Raw]]
"""Returns the top-level values of a body. Raises `RequestError`."""

_SHORTEST = 1024
"""Tools that are worth it."""
_SAMPLE = 64
"""Bytes by which a known end is looked up. It is compared in full."""
_LONGEST_REST = 512
_REST = re.compile(
    rb'\](?:, ?"[a-z_]+": ?(?:true|false|null|-?[0-9.]+|"[a-z0-9_]*"))*+\}\Z', re.ASCII
)
"""What may follow the tools: plain members of the body itself. What stands before them cannot end
inside a string or another object, or the whole would not be JSON."""
_NAME = re.compile(rb',[ \n]*+"tools" ?: ?\Z')
_LONGEST_NAME = 32


class _End(msgspec.Struct, frozen=True):
    """How a body ended: a comma and the name of `tools`, the tools, and what followed them."""

    name: bytes
    tools: Raw
    rest: bytes
    size: int
    """Of the tools."""

    def before(self, body: bytes) -> int:
        """Return where the comma is in a body that ends in the same way; 0 if this one does not."""
        end = len(body) - len(self.rest)
        begin = end - self.size
        at = begin - len(self.name)
        same = at > 0 and body.endswith(self.rest) and body.startswith(self.name, at)
        return at if same and Raw(memoryview(body)[begin:end]) == self.tools else 0


class RepeatedTools:
    """Splits bodies into their members with `read`, and remembers how they ended."""

    def __init__(self, max_bytes: int = 4 << 20, read: MemberReader = read_members) -> None:
        self._read = read
        self._ends: ByteLru[bytes, _End] = ByteLru(max_bytes)

    def members(self, body: bytes) -> dict[str, Raw]:
        """Return the top-level values, as `read` does, but `tools` may be the last. Raises
        `RequestError`."""
        end = self._ends.get(body[-_SAMPLE:])
        if end is not None and (at := end.before(body)):
            members = self._before(body[:at] + end.rest)
            if members:
                members["tools"] = end.tools
                return members
        members = self._read(body)
        tools = members.get("tools")
        if tools is not None and len(memoryview(tools)) >= _SHORTEST:
            # The same object from now on, so that whoever keeps it need not compare it either.
            members["tools"] = self._remembered(body, Raw(bytes(tools)))
        return members

    def _before(self, body: bytes) -> dict[str, Raw]:
        """Return the members of a body without its tools. Nothing if it cannot be read: then all
        of it is read, for an error message about the body as it is."""
        try:
            return self._read(body)
        except RequestError:
            return {}

    def _remembered(self, body: bytes, tools: Raw) -> Raw:
        rest = _REST.search(body, max(0, len(body) - _LONGEST_REST))
        if rest is not None:
            size = len(memoryview(tools))
            end = rest.start() + 1
            begin = end - size
            name = _NAME.search(body, max(0, begin - _LONGEST_NAME), max(0, begin))
            known = _End(name[0], tools, body[end:], size) if name is not None else None
            if known is not None and known.before(body):
                self._ends.put(body[-_SAMPLE:], known, size + _LONGEST_REST)
        return tools
