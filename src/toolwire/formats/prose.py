"""A format for a turn without calls. Its reasoning and channels are still parsed."""

from functools import lru_cache

from msgspec.structs import replace

from toolwire.formats.catalog import get
from toolwire.formats.channels import Channels
from toolwire.formats.markers import MarkerSet
from toolwire.formats.parser import Parser
from toolwire.formats.record import Format
from toolwire.formats.trace import Trace


def has_prose(name: str) -> bool:
    """Whether the format marks more than calls, such as reasoning or channels."""
    framing = get(name).framing
    return isinstance(framing, Channels) or bool(getattr(framing, "reasoning", ()))


def prose_parser(name: str, trace: Trace | None = None) -> Parser:
    """Return a parser for a turn without tool calls. It treats call markers as text. In message
    formats it still emits calls, and the consumer must drop them."""
    return Parser(_prose(name), delivery="whole", trace=trace)


@lru_cache(maxsize=128)
def _prose(name: str) -> Format:
    record = get(name)
    framing = record.framing
    if not isinstance(framing, MarkerSet):
        return record
    around = {marker for one in framing.reasoning for marker in (*one.opens, *one.closes)}
    loose = tuple(marker for marker in framing.loose if marker in around)
    bare: MarkerSet = replace(framing, opens=(), ends=(), sections=(), bare=(), loose=loose)
    return replace(record, framing=bare)
