"""Reads a file of tools: as in a request, as bare functions, or a whole request."""

from pathlib import Path

import msgspec

from toolwire.cli.usage_error import UsageError
from toolwire.formats import InvalidTool
from toolwire.formats.tools.given_tools import tools_of
from toolwire.protocol.tools import ToolSpec

_SHAPE = 'Write [{"type": "function", "function": {"name": ..., "parameters": {...}}}].'


def read_tools(path: Path | None) -> tuple[ToolSpec, ...]:
    """The tools of a file; none without one."""
    if path is None:
        return ()
    try:
        return tools_of(msgspec.json.decode(path.read_bytes()))
    except OSError as error:
        raise UsageError(f"cannot read the tools of {path}: {error.strerror or error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}. {_SHAPE}") from None
    except InvalidTool as error:
        raise UsageError(f"{path}: {error}. {_SHAPE}") from None
