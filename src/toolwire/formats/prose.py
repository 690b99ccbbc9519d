"""A format for a turn without calls. Its reasoning and channels are still parsed."""

from dataclasses import replace
from functools import lru_cache

from toolwire.formats.catalog import get
from toolwire.formats.channels import Channels
from toolwire.formats.markers import MarkerSet
from toolwire.formats.parser import Parser
from toolwire.formats.record import Format
from toolwire.formats.trace import Trace


def has_prose(name: str) -> bool:
    """Whether the format marks more than calls, such as reasoning or channels."""
    return _prose(name) is not None


def prose_parser(name: str, trace: Trace | None = None) -> Parser:
    """Return a parser for a turn without tool calls. It treats call markers as text. In message
    formats it still emits calls, and the consumer must drop them."""
    return Parser(_prose(name) or get(name), delivery="whole", trace=trace)


@lru_cache(maxsize=128)
def _prose(name: str) -> Format | None:
    record = get(name)
    framing = record.framing
    if isinstance(framing, Channels):
        return record
    if isinstance(framing, MarkerSet) and framing.reasoning:
        bare: MarkerSet = replace(framing, opens=(), ends=(), sections=(), bare=(), loose=())
        return replace(record, framing=bare)  # type: ignore[arg-type]
    return None
