"""Tool calling that works, between any client and any model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwire.client import AsyncClient, Client, Limits, Tool, Toolbox, ToolError, tool
    from toolwire.formats import (
        ArgsDelta,
        CallEnd,
        CallStart,
        Detection,
        Extracted,
        ExtractedCall,
        InvalidTool,
        Parser,
        ReasoningDelta,
        RenderedCall,
        RenderedResult,
        Span,
        TextDelta,
        ToolSpec,
        Trace,
        detect_model,
        detect_output,
        detect_template,
        extract,
        parser_for,
        render_calls,
        render_results,
        render_tools,
    )

__version__ = "0.1.0"
__all__ = [
    "ArgsDelta",
    "AsyncClient",
    "CallEnd",
    "CallStart",
    "Client",
    "Detection",
    "Extracted",
    "ExtractedCall",
    "InvalidTool",
    "Limits",
    "Parser",
    "ReasoningDelta",
    "RenderedCall",
    "RenderedResult",
    "Span",
    "TextDelta",
    "Tool",
    "ToolError",
    "ToolSpec",
    "Toolbox",
    "Trace",
    "__version__",
    "detect_model",
    "detect_output",
    "detect_template",
    "extract",
    "parser_for",
    "render_calls",
    "render_results",
    "render_tools",
    "tool",
]

_CLIENT = ("AsyncClient", "Client", "Limits", "Tool", "ToolError", "Toolbox", "tool")
_MODULES = dict.fromkeys(__all__, "toolwire.formats") | dict.fromkeys(_CLIENT, "toolwire.client")
"""Where each public name is defined."""


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import toolwire` stays quick."""
    if name not in _MODULES:
        raise AttributeError(f"module 'toolwire' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value
