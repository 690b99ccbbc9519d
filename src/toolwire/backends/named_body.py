"""A forwarded body whose model name can be replaced."""

from collections.abc import Callable

import msgspec


class NamedBody(msgspec.Struct, frozen=True):
    """A body that can be sent under any model name. `kind` is its Content-Type."""

    kind: str
    model: str | None
    """The model name in the body, if there is one."""
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    whole: tuple[bytes, ...]
    """The body to send if no model name is known."""
    encode: Callable[[str], bytes] = msgspec.json.encode
    chooses: str = ""
    """Another member by which some servers select the model."""

    def under(self, name: str | None) -> tuple[bytes, ...]:
        """Return the body in pieces, with this model name."""
        return self.whole if name is None else (*self.before, self.encode(name), *self.after)
