"""A body that is passed on: the same bytes under any name for the model."""

from collections.abc import Callable

import msgspec


class NamedBody(msgspec.Struct, frozen=True):
    """A body that can be sent under any name for its model. `kind` is its Content-Type."""

    kind: str
    model: str | None
    """The model that it names; None if it names none."""
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    whole: tuple[bytes, ...]
    """As it is sent where no name is known at all."""
    encode: Callable[[str], bytes] = msgspec.json.encode
    chooses: str = ""
    """A member beside `model` by which some servers choose the model."""

    def under(self, name: str | None) -> tuple[bytes, ...]:
        """The body in pieces, with this name for the model."""
        return self.whole if name is None else (*self.before, self.encode(name), *self.after)
