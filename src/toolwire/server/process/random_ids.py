"""Random ids: a prefix and the 32 hexadecimal digits of a version 4 UUID.

The system is asked for randomness once per 256 ids: asking each time, and `uuid.uuid4`'s object,
cost more than everything else about an id.
"""

import os

_BATCH = 256
# RFC 9562: four bits of the seventh byte are the version, 4; two of the ninth are the variant.
_VERSION = bytes(byte & 0x0F | 0x40 for byte in range(256))
_VARIANT = bytes(byte & 0x3F | 0x80 for byte in range(256))
_pool: list[str] = []


def new_id(prefix: str) -> str:
    """Return a new id."""
    if not _pool:
        _pool.extend(_batch())
    return prefix + _pool.pop()


def _batch() -> list[str]:
    numbers = bytearray(os.urandom(16 * _BATCH))
    numbers[6::16] = numbers[6::16].translate(_VERSION)
    numbers[8::16] = numbers[8::16].translate(_VARIANT)
    return numbers.hex(" ", 16).split()
