"""Calls that begin with the name of a tool: as a tag, on a line of its own, or as Python."""

import re

from toolwire.formats.reader import Need, Reader, peek
from toolwire.formats.tools.declared_tools import DeclaredTools

_NAME = 200  # maximum length of a tool's name
_SPACE = 64  # maximum whitespace before an answer
_ENDS = ("\n", "\r\n", "(")  # what follows a name that is no tag
_FIRST_KEY = 128  # maximum length of an object up to the end of its first key
_OBJECT = re.compile(r'\s*+(?:\{\s*+(?:\}|"(?P<key>[^"\\]*+)(?P<end>"?))?)?')
"""The beginning of an object, as far as the end of its first key."""


class ToolNames:
    """Looks ahead for the names of the declared tools. Consumes nothing."""

    __slots__ = ("_reader", "_tools")

    def __init__(self, reader: Reader, tools: DeclaredTools) -> None:
        self._reader = reader
        self._tools = tools

    def head(self, lead: int) -> Need[str]:
        """Return the tool's name that the answer begins with, as a tag, a line or a Python call."""
        names = self._tools.names()
        first = (yield from peek(self._reader, lead + 1))[lead:]
        if first == "<":
            heads = [f"<{name}>" for name in names]
        else:
            heads = [name + end for name in names if name.startswith(first) for end in _ENDS]
        size = 1
        while heads:
            ahead = (yield from peek(self._reader, lead + size))[lead:]
            heads = [head for head in heads if head.startswith(ahead)]
            if len(ahead) < size:
                return ""
            if ahead in heads:
                return ahead
            size += 1
        return ""

    def tag(self) -> Need[str]:
        """Return the tag here if it is named after a tool, else an empty string."""
        reader, tools = self._reader, self._tools
        while True:
            start = reader.pos + 1
            end = reader.buf.find(">", start, start + _NAME + 1)
            name = reader.buf[start : end if end >= 0 else start + _NAME + 1]
            if end >= 0:
                return f"<{name}>" if tools.known(name) else ""
            if reader.final or not any(known.startswith(name) for known in tools.names()):
                return ""
            yield

    def space(self, lead: int) -> Need[int]:
        """Return where the white space that begins so far ahead ends."""
        most = lead + _SPACE
        while (yield from peek(self._reader, lead + 1))[lead:].isspace() and lead < most:
            lead += 1
        return lead

    def has_arguments(self, name: str, lead: int) -> Need[bool]:
        """Whether an object follows whose first key is a parameter of the tool. A name on a line is
        otherwise a heading."""
        known = self._tools.properties(name)
        for size in range(1, _FIRST_KEY):
            ahead = (yield from peek(self._reader, lead + size))[lead:]
            found = _OBJECT.fullmatch(ahead)
            if found is None or len(ahead) < size:
                return False
            if ahead[-1] == "}" or found["end"]:
                return ahead[-1] == "}" or found["key"] in known
        return False
