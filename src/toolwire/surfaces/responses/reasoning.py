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
"""Maximum bytes of text in all envelopes of a request: compressed text may expand a lot."""


def seal(text: str) -> str:
    """Wrap the text in an envelope."""
    packed = zlib.compress(text.encode("utf-8", "replace"), 1)
    return _PREFIX + urlsafe_b64encode(_checksum(packed) + packed).decode()


def is_ours(envelope: str) -> bool:
    """Whether an envelope looks like one of ours, even if it is damaged."""
    return envelope.startswith(_PREFIX)


class Unsealer:
    """Opens the envelopes of one request."""

    def __init__(self) -> None:
        self._room = _LONGEST

    def open(self, envelope: str) -> str | None:
        """Return the text in an envelope; None if it is not one of ours, or too long."""
        if not is_ours(envelope) or self._room <= 0:
            return None
        try:
            data = urlsafe_b64decode(envelope[len(_PREFIX) :])
            packed = data[_SUM:]
            if data[:_SUM] != _checksum(packed):
                return None
            reader = zlib.decompressobj()
            text = reader.decompress(packed, self._room)
            self._room -= len(text)
            return text.decode() if reader.eof else None
        except (binascii.Error, zlib.error, ValueError):
            return None


def _checksum(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_SUM, person=_PERSON).digest()
