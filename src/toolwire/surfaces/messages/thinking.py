"""Signatures of thinking blocks: clients send a block back only if it has one.

Toolwire's signatures are checksums, so a block whose text was changed is not passed to the model as
its own thinking. A block of another provider cannot be checked, and is accepted as it is.
"""

import hashlib

_OURS = "tw1."


def signature(text: str) -> str:
    """Return the signature of a thinking block."""
    return _OURS + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=24).hexdigest()


def is_foreign(given: object) -> bool:
    """Whether a signature is not Anthropic's: it is one of ours, or there is none."""
    return not isinstance(given, str) or not given or given.startswith(_OURS)


def is_changed(text: str, given: object) -> bool:
    """Whether a block has one of our signatures that does not match its text."""
    return isinstance(given, str) and given.startswith(_OURS) and given != signature(text)
