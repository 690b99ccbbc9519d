"""Reasoning in `encrypted_content`: the client returns it unchanged, so the model gets its own
reasoning back without server-side storage.

It is not secret, since the client has seen it as the summary. The checksum only distinguishes
Toolwire's envelopes from those of other providers.
"""

import binascii
import hashlib
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

_PREFIX = "tw1."
_SUM = 8
_PERSON = b"toolwire"
_LONGEST = 8 * 1024 * 1024
"""Maximum bytes of text in one envelope: compressed text may expand a lot."""


def seal(text: str) -> str:
    """Wrap the text in an envelope."""
    packed = zlib.compress(text.encode("utf-8", "replace"), 1)
    return _PREFIX + urlsafe_b64encode(_checksum(packed) + packed).decode()


def unseal(envelope: str) -> str | None:
    """Return the text in an envelope; None if it is not one of ours."""
    if not envelope.startswith(_PREFIX):
        return None
    try:
        data = urlsafe_b64decode(envelope[len(_PREFIX) :])
        packed = data[_SUM:]
        if data[:_SUM] != _checksum(packed):
            return None
        reader = zlib.decompressobj()
        text = reader.decompress(packed, _LONGEST)
        return text.decode() if reader.eof else None
    except (binascii.Error, zlib.error, ValueError):
        return None


def _checksum(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_SUM, person=_PERSON).digest()
