"""The variants: how an answer is written on the wire, each odd in one way. A table by name."""

from tests.scripted.variants import (
    breaks,
    call_shape,
    connection,
    cutting,
    encoding,
    failures,
    identity,
    speech,
    stream_shape,
    tool_support,
)
from tests.scripted.variants.base import VARIANTS, Variant, load_variant

__all__ = ["MODULES", "VARIANTS", "Variant", "load_variant"]

MODULES = (
    stream_shape,
    call_shape,
    identity,
    speech,
    tool_support,
    cutting,
    encoding,
    failures,
    breaks,
    connection,
)
"""Importing them enters their variants in the table."""
