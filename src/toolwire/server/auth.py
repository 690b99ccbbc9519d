"""Client keys: making, hashing and checking them."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable

from toolwire.server.config.settings import ClientKey

LONGEST_KEY = 512  # no key of any provider is near it; more is not worth hashing
_VISIBLE = re.compile(rb"[\x21-\x7e]+")


class Keyring:
    """Finds the name of a key, in a time that does not reveal how close a wrong one was.

    Keys are compared by their SHA-256, each with every configured one, so the time depends
    neither on a shared prefix nor on which key matches.
    """

    __slots__ = ("_digests",)

    def __init__(self, keys: Iterable[ClientKey]) -> None:
        self._digests = tuple((key.name, bytes.fromhex(key.sha256)) for key in keys)

    @property
    def open(self) -> bool:
        """Whether no keys are configured, so that everyone has access."""
        return not self._digests

    def check(self, authorization: bytes | str | None) -> str | None:
        """The name of the key in an `Authorization` header, or None if it is unknown."""
        presented = bearer(authorization)
        if presented is None:
            return None
        digest = hashlib.sha256(presented).digest()
        found = None
        for name, ours in self._digests:
            if hmac.compare_digest(digest, ours):
                found = name
        return found


def bearer(authorization: bytes | str | None) -> bytes | None:
    """The key in `Bearer KEY`, or None if there is none or it cannot be one."""
    if authorization is None or len(authorization) > LONGEST_KEY:
        return None
    if isinstance(authorization, str):
        if not authorization.isascii():
            return None
        authorization = authorization.encode("ascii")
    scheme, _, key = authorization.strip().partition(b" ")
    key = key.strip()
    if scheme.lower() != b"bearer" or not _VISIBLE.fullmatch(key):
        return None
    return key


def is_usable(key: str) -> bool:
    """Whether a client could present this key: visible ASCII, neither empty nor over-long."""
    return len(key) <= LONGEST_KEY - len("Bearer ") and bearer(f"Bearer {key}") == key.encode()


def hash_key(plain: str) -> str:
    """The SHA-256 of a key, in hex, as the configuration keeps it."""
    return hashlib.sha256(plain.encode()).hexdigest()


def new_key() -> str:
    """A new key for a client, with 256 random bits."""
    return "tw-" + secrets.token_urlsafe(32)
