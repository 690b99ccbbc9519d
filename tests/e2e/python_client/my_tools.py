"""A user's file of tools, for `toolwire chat` and `toolwire mcp`."""

import time

from toolwire import ToolError, tool
from toolwire.client import Image


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Get the weather of a city.

    Args:
        city: Name of the city.
        days: How many days.
    """
    print("looking it up")  # noqa: T201 - must not spoil the protocol of `toolwire mcp`
    return f"{days} sunny day(s) in {city}"


@tool
async def fail(reason: str) -> str:
    """Fail."""
    raise ToolError(reason)


@tool
def draw() -> list[str | Image]:
    """Draw a picture."""
    return ["A dot.", Image(b"\x89PNG")]


@tool
def slow(seconds: float) -> str:
    """Take some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
    return "slept"
