"""Adapters for the tests of `toolwire conform`."""

from tests.unit.conformance.faulty import Raises, Toy

from toolwire.conformance import Adapter


def right(format_name: str) -> Adapter:
    return Toy()


def raises(format_name: str) -> Adapter:
    return RaisesAlways()


def nothing(format_name: str) -> Adapter | None:
    return None


class RaisesAlways(Raises):
    """Raises in a stream as well."""
