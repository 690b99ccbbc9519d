"""Client keys: making, hashing and checking them."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Mapping

from toolwire.errors import Unauthorized
from toolwire.server.config.settings import ClientKey

LONGEST_KEY = 512  # no provider's key is nearly as long; do not hash longer ones
_MOST_ADMITTED = 1024
_VISIBLE = re.compile(rb"[\x21-\x7e]+")


class Keyring:
    """Finds the name of a key, in a time that does not reveal how close a wrong key was.

    Keys are compared by their SHA-256, each with every configured one, so the time depends
    neither on a shared prefix nor on which key matches.
    """

    __slots__ = ("_digests", "open")

    def __init__(self, keys: Iterable[ClientKey]) -> None:
        self._digests = tuple((key.name, bytes.fromhex(key.sha256)) for key in keys)
        self.open = not self._digests
        """Whether no keys are configured, so that everyone has access."""

    def check(self, authorization: bytes | str | None) -> str | None:
        """Return the name of the key in an `Authorization` header, or None if it is unknown."""
        presented = bearer(authorization)
        return None if presented is None else self.name_of(presented)

    def name_of(self, key: bytes) -> str | None:
        """Return the name of a key, or None if it is unknown."""
        digest = hashlib.sha256(key).digest()
        found = None
        for name, ours in self._digests:
            if hmac.compare_digest(digest, ours):
                found = name
        return found


class Admission:
    """Checks a request's key, with a cache of accepted headers.

    The key is in `Authorization: Bearer KEY` or in `x-api-key: KEY`. If both are there, the bearer
    decides if it is a valid key, else the other one does: a proxy may use `Authorization` for
    itself. Lookups in the cache hash with a random key, so their time reveals nothing about a
    header that is not in it.
    """

    __slots__ = ("_admitted", "_keys", "_own", "_see")

    def __init__(self, keys: Keyring, see: Callable[[str], None]) -> None:
        self._keys = keys
        self._see = see
        self._admitted: dict[bytes, str] = {}
        self._own: dict[bytes, str] = {}

    def name(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Return the name of the request's key; None if none is needed. Raises `Unauthorized`."""
        if self._keys.open:
            return None
        given = headers.get(b"authorization", b"")
        found = self._admitted.get(given)
        return found if found is not None else self._other(given, headers.get(b"x-api-key", b""))

    def _other(self, given: bytes, own: bytes) -> str:
        """Return the name of a key that is in `x-api-key`, or not in the cache."""
        name = self._checked(self._admitted, given, bearer(given))
        if name is None and own:
            name = self._own.get(own) or self._checked(self._own, own, bare(own))
        if name is None:
            raise Unauthorized(_KEY_WRONG if given or own else _KEY_MISSING)
        return name

    def _checked(self, cache: dict[bytes, str], header: bytes, key: bytes | None) -> str | None:
        name = None if key is None else self._keys.name_of(key)
        if key is None or name is None:
            return None
        self._see(key.decode("ascii"))
        if len(cache) >= _MOST_ADMITTED:
            cache.clear()
        cache[header] = name
        return name


_KEY_MISSING = (
    "You didn't provide an API key. Send it in an Authorization header, "
    "'Authorization: Bearer YOUR_KEY', or as 'x-api-key: YOUR_KEY'."
)
_KEY_WRONG = "Incorrect API key provided. Check the key, or ask this server's operator for one."


def bare(header: bytes) -> bytes | None:
    """Return the key in `x-api-key`, or None if it cannot be one."""
    if len(header) > LONGEST_KEY:
        return None
    key = header.strip()
    return key if _VISIBLE.fullmatch(key) else None


def bearer(authorization: bytes | str | None) -> bytes | None:
    """Return the key in `Bearer KEY`, or None if there is none or it cannot be one."""
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
    """Whether a client could send this key: visible ASCII, not empty and not too long."""
    return len(key) <= LONGEST_KEY - len("Bearer ") and bearer(f"Bearer {key}") == key.encode()


def hash_key(plain: str) -> str:
    """Return the SHA-256 of a key, in hex, as in the configuration."""
    return hashlib.sha256(plain.encode()).hexdigest()


def new_key() -> str:
    """Generate a client key with 256 random bits."""
    return "tw-" + secrets.token_urlsafe(32)
