"""Toolwire makes tool calling work between any client and any model."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwire.client import AsyncClient, Client, Limits, Tool, Toolbox, ToolError, tool

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "Client",
    "Limits",
    "Tool",
    "ToolError",
    "Toolbox",
    "__version__",
    "tool",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Load the client only when it is used: the formats and the gateway do without it."""
    if name not in __all__:
        raise AttributeError(f"module 'toolwire' has no attribute {name!r}")
    from toolwire import client  # noqa: PLC0415

    return getattr(client, name)
