"""Text <-> calls: every tool-call format that open models write. Imports protocol only."""

from collections.abc import Iterable

from toolwire.formats.catalog import get, names
from toolwire.formats.detection.detect import Detection, detect_model, detect_template
from toolwire.formats.detection.detector import OutputDetector
from toolwire.formats.detection.output import detect_output, notice_mismatch, read_answer
from toolwire.formats.parser import Delivery, Extracted, ExtractedCall, Parser, join
from toolwire.formats.record import Format
from toolwire.formats.rendering.render import (
    PromptTurn,
    RenderedCall,
    RenderedResult,
    provider_id,
    render_calls,
    render_results,
    render_tools,
)
from toolwire.formats.tools.given_tools import DescribedTool, GivenTool, InvalidTool, as_tools
from toolwire.formats.trace import Span, Trace
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, ReasoningDelta, TextDelta
from toolwire.protocol.tools import ToolSpec

__all__ = [
    "AUTO",
    "ArgsDelta",
    "CallEnd",
    "CallStart",
    "Delivery",
    "DescribedTool",
    "Detection",
    "Extracted",
    "ExtractedCall",
    "Format",
    "GivenTool",
    "InvalidTool",
    "OutputDetector",
    "Parser",
    "PromptTurn",
    "ReasoningDelta",
    "RenderedCall",
    "RenderedResult",
    "Span",
    "TextDelta",
    "ToolSpec",
    "Trace",
    "detect_model",
    "detect_output",
    "detect_template",
    "extract",
    "get",
    "join",
    "names",
    "notice_mismatch",
    "parser_for",
    "provider_id",
    "render_calls",
    "render_results",
    "render_tools",
]


AUTO = "auto"
"""Pass this instead of a format's name to detect the format."""


def parser_for(
    name: str,
    tools: Iterable[GivenTool] = (),
    *,
    delivery: Delivery = "live",
    trace: Trace | None = None,
) -> Parser:
    """Return a streaming parser for one turn in the format `name`.

    `tools` are those of the request, each as OpenAI's JSON (a dictionary), a `ToolSpec`, or a
    function with `@tool`. With them, names are recognized and values converted by their schemas.
    `delivery` is `"live"` to get arguments as the model writes them, or `"whole"` to get each call
    once it is complete. With a `trace`, the parser records how it classified each span of the text.
    If the prompt ended inside reasoning, feed the parser that opening first, such as `<think>`.
    Raises `KeyError` if there is no such format.
    """
    return Parser(get(name), as_tools(tools), delivery=delivery, trace=trace)


def extract(
    name: str,
    text: str,
    tools: Iterable[GivenTool] = (),
    *,
    trace: Trace | None = None,
) -> Extracted:
    """Return the content, the reasoning and the complete calls in `text`, a model's whole answer.

    With the name `"auto"` the format is detected, and `format` of the result names it. An answer
    that is nothing but calls of `tools`, in Python or in code fences, counts as these calls.
    `tools` also lets the parser convert arguments by their schemas, in formats that write every
    value as text. The other parameters are those of `parser_for`.
    """
    known = as_tools(tools)
    if name == AUTO:
        return read_answer(text, known, trace)
    parser = parser_for(name, known, delivery="whole", trace=trace)
    return join([*parser.feed(text), *parser.finish()])
