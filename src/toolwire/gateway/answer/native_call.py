"""The state of one native call while it is streamed."""

import re

import msgspec

from toolwire.protocol.json_boundary import JsonBoundary

_EMPTY = re.compile(r"\s*+\{\s*+\}\s*+")
_LEAD = re.compile(r"\s*+(?:```\w*+\s*+(?=\{))?+(?:\{\s*+\}\s*+(?=\{))*+")
"""The opening of a code fence, and empty objects, before the arguments."""
_MEMBER = re.compile(r'\{\s*+"\w')
"""The start of arguments. Within a string, its quote would end the string before a letter."""
_MOST_LEADING = 16
"""The most pieces in which the opening of a fence comes."""


class NativeCall(msgspec.Struct, eq=False):
    """A call that is being received."""

    provider_id: str | None = None
    name: str = ""
    custom: bool = False
    waiting: list[str] = []
    boundary: JsonBoundary = msgspec.field(default_factory=JsonBoundary)
    has_arguments: bool = False
    started: bool = False
    pieces: list[str] = []
    empty: bool = False
    """Whether it is `{}` so far, of which nothing was sent: the arguments may still follow."""
    told: int = 0
    """How many characters each delta repeats, if deltas hold all of the arguments so far."""
    repeats: "NativeCall | None" = None
    """The complete call whose name was repeated, until arguments show that this is a new call."""

    @property
    def complete(self) -> bool:
        """Whether its arguments are a complete JSON value."""
        return self.boundary.complete

    @property
    def blank(self) -> bool:
        """Whether it has no arguments, in any spelling."""
        if self.custom or self.boundary.started:
            return False
        return "".join(self.waiting).strip() in ("", "null")

    @property
    def sent(self) -> list[str]:
        """The pieces of its arguments that are no longer waiting."""
        return self.pieces[: len(self.pieces) - len(self.waiting)]

    def add(self, text: str) -> None:
        """Add a piece of its arguments, to be sent when the call is current."""
        self.waiting.append(text)
        self.pieces.append(text)
        if self.complete and len(self.waiting) == len(self.pieces):
            self.empty = _EMPTY.fullmatch("".join(self.waiting)) is not None

    def news(self, text: str) -> str:
        """Return what a delta adds, which may repeat all of the arguments so far."""
        if not self.told:
            if len(self.pieces) != 1 or not self._is_repeated_by(text):
                return text
            self.told = len(self.pieces[0])
        if len(text) >= self.told and text.startswith("".join(self.pieces)):
            text = text[self.told :]
        self.told += len(text)
        return text

    def _is_repeated_by(self, text: str) -> bool:
        """Whether the second piece repeats the first: behind it, an object would be no JSON."""
        first = self.pieces[0]
        if self.complete or first[:1] != "{":
            return False
        if len(text) <= len(first) or not text.startswith(first):
            return False
        if self.boundary.in_string:
            return _MEMBER.match(text) is not None
        return first.rstrip()[-1] not in ":[,"

    def led_by(self, text: str) -> bool:
        """Whether what it has so far may only precede the arguments, which `text` begins."""
        if self.empty:
            return text.lstrip()[:1] == "{"
        if self.boundary.open or self.complete:
            return False
        return 0 < len(self.pieces) <= _MOST_LEADING and "{" in text

    def begin_again(self) -> str:
        """Forget its arguments, and return them."""
        text = "".join(self.pieces)
        self.waiting.clear()
        self.pieces.clear()
        self.boundary = JsonBoundary()
        self.empty = False
        return text

    def says(self, text: str) -> bool:
        """Whether `text` equals all of its arguments."""
        return self.complete and text == "".join(self.pieces)

    @property
    def cut(self) -> bool:
        """Whether its arguments have started but not ended."""
        return self.has_arguments and not self.complete and not self.blank


def lead(text: str) -> int:
    """Return how many characters at the start of arguments are not part of them."""
    found = _LEAD.match(text)
    return found.end() if found and not found[0].isspace() else 0


def as_text(arguments: object) -> str:
    """Return arguments of any JSON type as JSON text."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()
