"""A value that does not appear in a `repr`, a log or an error message."""


class Secret:
    """A value that only `reveal()` returns."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value, for the one place that must send it."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)
