"""Random ids: a prefix and the 32 hexadecimal digits of a version 4 UUID.

The system is asked for randomness once per 256 ids: asking each time, and `uuid.uuid4`'s object,
cost more than everything else about an id.
"""

import os

_BATCH = 256
_pool: list[str] = []


def new_id(prefix: str) -> str:
    """Return a new id."""
    if not _pool:
        _pool.extend(_batch())
    return prefix + _pool.pop()


def _batch() -> list[str]:
    digits = os.urandom(16 * _BATCH).hex()
    ids = (digits[at : at + 32] for at in range(0, len(digits), 32))
    # RFC 9562: the version is 4, the two bits of the variant are 10.
    return [f"{i[:12]}4{i[13:16]}{'89ab'[int(i[16], 16) & 3]}{i[17:]}" for i in ids]
