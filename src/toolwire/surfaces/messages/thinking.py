"""Signatures of thinking blocks: clients send a block back only if it has one.

Ours are recognisable, so that a block whose text was changed on the way is not taken for what the
model thought. A block of another provider is taken as it is: it cannot be checked here.
"""

import hashlib

_OURS = "tw1."


def signature(text: str) -> str:
    """The signature of a thinking block."""
    return _OURS + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=24).hexdigest()


def is_changed(text: str, given: object) -> bool:
    """Whether a block has a signature of ours that is not that of its text."""
    return isinstance(given, str) and given.startswith(_OURS) and given != signature(text)
