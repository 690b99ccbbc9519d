"""One call of a backend with native tools, as far as it is known."""

from dataclasses import dataclass, field

import msgspec

from toolwire.protocol.json_boundary import JsonBalance


@dataclass(slots=True, eq=False)
class NativeCall:
    """A call in the making."""

    provider_id: str | None = None
    name: str = ""
    custom: bool = False
    waiting: list[str] = field(default_factory=list)
    balance: JsonBalance = field(default_factory=JsonBalance)
    has_arguments: bool = False
    started: bool = False
    pieces: list[str] = field(default_factory=list)
    repeats: "NativeCall | None" = None
    """The complete call whose name came again, until arguments show that this is another call."""

    @property
    def complete(self) -> bool:
        """Whether its arguments are a whole JSON value."""
        return self.balance.complete

    @property
    def blank(self) -> bool:
        """Whether it has no arguments, however that was written."""
        if self.custom or self.balance.started:
            return False
        return "".join(self.waiting).strip() in ("", "null")

    def add(self, text: str) -> None:
        """The next piece of its arguments, to be sent on when it is in turn."""
        self.waiting.append(text)
        self.pieces.append(text)

    def says(self, text: str) -> bool:
        """Whether these are its arguments, all of them."""
        return self.complete and text == "".join(self.pieces)

    @property
    def cut(self) -> bool:
        """Whether its arguments have begun and not ended."""
        return self.has_arguments and not self.complete and not self.blank


def as_text(arguments: object) -> str:
    """Arguments as JSON text, whatever JSON type the backend gave them."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()
