"""Pieces of an input: the same for the same input always, so that a finding can be had again."""

from itertools import pairwise
from random import Random
from typing import TypeVar
from zlib import crc32

T = TypeVar("T", bytes, str)


def pieces(data: T, *, most: int = 12) -> list[T]:
    """The input, cut at a few places."""
    seed = crc32(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    random = Random(seed)
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.randrange(1, most)))
    return [data[start:end] for start, end in pairwise([0, *cuts, len(data)])]


def each(data: bytes) -> list[bytes]:
    """Byte by byte."""
    return [data[at : at + 1] for at in range(len(data))]
