"""The state of one native call while it is streamed."""

import msgspec

from toolwire.protocol.json_boundary import JsonBoundary


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

    def add(self, text: str) -> None:
        """Add a piece of its arguments, to be sent when the call is current."""
        self.waiting.append(text)
        self.pieces.append(text)

    def says(self, text: str) -> bool:
        """Whether `text` equals all of its arguments."""
        return self.complete and text == "".join(self.pieces)

    @property
    def cut(self) -> bool:
        """Whether its arguments have started but not ended."""
        return self.has_arguments and not self.complete and not self.blank


def as_text(arguments: object) -> str:
    """Return arguments of any JSON type as JSON text."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()
