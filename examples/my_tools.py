"""Tools for `toolwire chat --tools examples/my_tools.py` and `toolwire mcp --tools ...`.

Any typed function can be a tool; the docstring is what the model is told about it.
"""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from toolwire import ToolError, tool


@tool
def get_time(zone: Annotated[str, "IANA name, such as Europe/Paris."] = "UTC") -> datetime:
    """Get the current time in a time zone."""
    try:
        return datetime.now(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        raise ToolError(f"There is no time zone {zone}. Give one such as Europe/Paris.") from None


@tool
def list_files(folder: Path, kind: Literal["files", "folders", "all"] = "all") -> list[str]:
    """List what is in a folder.

    Args:
        folder: Where to look.
        kind: What to list.
    """
    wanted = {"files": Path.is_file, "folders": Path.is_dir, "all": Path.exists}[kind]
    return sorted(path.name for path in folder.iterdir() if wanted(path))


@tool(timeout=60)
async def count_down(seconds: int) -> str:
    """Wait for some seconds."""
    await asyncio.sleep(seconds)
    return "Done."
