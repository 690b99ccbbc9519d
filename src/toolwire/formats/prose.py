"""A format for a turn without calls: its reasoning and its channels are read all the same."""

from dataclasses import replace
from functools import lru_cache

from toolwire.formats.catalog import get
from toolwire.formats.channels import Channels
from toolwire.formats.markers import MarkerSet
from toolwire.formats.parser import Parser
from toolwire.formats.record import Format
from toolwire.formats.trace import Trace


def has_prose(name: str) -> bool:
    """Whether the format marks more than calls: what is thought, or what is meant for whom."""
    return _prose(name) is not None


def prose_parser(name: str, trace: Trace | None = None) -> Parser:
    """A parser for a turn in which nothing may be called. Markers of calls are text to it; where
    calls are messages beside others, whoever reads the events leaves them out."""
    record = _prose(name) or get(name)
    return Parser(record, delivery="whole", starts_inside=record.starts_inside, trace=trace)


@lru_cache(maxsize=128)
def _prose(name: str) -> Format | None:
    record = get(name)
    framing = record.framing
    if isinstance(framing, Channels):
        return record
    if isinstance(framing, MarkerSet) and framing.reasoning is not None:
        bare: MarkerSet = replace(framing, opens=(), ends=(), sections=(), bare=(), loose=())
        return replace(record, framing=bare)  # type: ignore[arg-type]
    return None
