"""The toolwire.toml of these tests: one route per mode, format and dialect, all to one model."""

from collections.abc import Iterable

from tests.e2e.prompted.models import ALL

Place = tuple[str, str, str]
"""A route: its mode, its format, and the dialect of its backend."""

EVERY_FORMAT: tuple[Place, ...] = tuple(
    (mode, name, "generic") for mode in ("prompted", "hybrid") for name in ALL
)
NATIVE: Place = ("native", "hermes", "generic")


def route(mode: str, name: str, dialect: str = "generic") -> str:
    """What a route is called. `generic` is a server that cannot constrain decoding."""
    return f"{mode}/{name}/{dialect}"


def config(url: str, places: Iterable[Place]) -> str:
    """The text of the file. Every backend is sent the same model's name."""
    return "\n".join(
        f'[[models]]\nname = "{route(mode, name, dialect)}"\nmode = "{mode}"\nformat = "{name}"\n'
        f'backend = {{ url = "{url}", dialect = "{dialect}", model = "scripted" }}\n'
        for mode, name, dialect in dict.fromkeys(places)
    )
