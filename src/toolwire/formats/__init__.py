"""Text <-> calls: every tool-call format that open models write. Imports protocol only."""

from collections.abc import Iterable

from toolwire.formats.catalog import get, names
from toolwire.formats.detect import (
    Detection,
    detect_model,
    detect_output,
    detect_template,
    notice_mismatch,
)
from toolwire.formats.detector import OutputDetector
from toolwire.formats.parser import Delivery, Extracted, ExtractedCall, Parser, join
from toolwire.formats.record import Format
from toolwire.formats.render import (
    PromptTurn,
    RenderedCall,
    RenderedResult,
    provider_id,
    render_calls,
    render_results,
    render_tools,
)
from toolwire.formats.trace import Span, Trace
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, ReasoningDelta, TextDelta
from toolwire.protocol.tools import Tool

__all__ = [
    "ArgsDelta",
    "CallEnd",
    "CallStart",
    "Delivery",
    "Detection",
    "Extracted",
    "ExtractedCall",
    "Format",
    "OutputDetector",
    "Parser",
    "PromptTurn",
    "ReasoningDelta",
    "RenderedCall",
    "RenderedResult",
    "Span",
    "TextDelta",
    "Tool",
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


def parser_for(
    name: str,
    tools: Iterable[Tool] = (),
    *,
    delivery: Delivery = "live",
    starts_inside: bool | None = None,
    trace: Trace | None = None,
) -> Parser:
    """Return a streaming parser for one turn in the format `name`.

    `delivery` is `"live"` to get arguments as the model writes them, or `"whole"` to get each call
    once it is complete. Set `starts_inside` if the prompt ended inside a reasoning block. With a
    `trace`, the parser records what it took each span of the text for. Raises `KeyError` if there
    is no such format.
    """
    record = get(name)
    inside = record.starts_inside if starts_inside is None else starts_inside
    return Parser(record, tools, delivery=delivery, starts_inside=inside, trace=trace)


def extract(
    name: str,
    text: str,
    tools: Iterable[Tool] = (),
    *,
    starts_inside: bool | None = None,
    trace: Trace | None = None,
) -> Extracted:
    """Return the content, the reasoning and the complete calls in `text`, a model's whole answer.

    `tools` lets the parser convert arguments by their schemas, in formats that write every value
    as text. The other parameters are those of `parser_for`.
    """
    parser = parser_for(name, tools, delivery="whole", starts_inside=starts_inside, trace=trace)
    return join([*parser.feed(text), *parser.finish()])
