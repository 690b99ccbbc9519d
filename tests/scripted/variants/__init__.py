"""The variants: how an answer is written on the wire, each odd in one way. A table by name."""

from tests.scripted.variants import (
    call_shape,
    connection,
    encoding,
    failures,
    identity,
    speech,
    stream_shape,
)
from tests.scripted.variants.base import VARIANTS, Variant, load_variant

__all__ = [
    "VARIANTS",
    "Variant",
    "call_shape",
    "connection",
    "encoding",
    "failures",
    "identity",
    "load_variant",
    "speech",
    "stream_shape",
]
