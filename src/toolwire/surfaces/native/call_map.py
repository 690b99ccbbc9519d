"""The header `toolwire-call-map`: a request's `ToolCallIdMap`, signed, for the client to carry.

    v1.PAYLOAD.SIGNATURE

The payload is msgpack in base64url: whether older calls were omitted, and pairs of Toolwire's id
and the provider's. The signature covers the version, the API key's name and the payload, so a
client can neither change a map nor use the map of another key.
"""

import base64
import binascii
import hashlib
import hmac
import re

import msgspec

from toolwire.surfaces.native.ids import ToolCallIdMap

HEADER = "toolwire-call-map"
MOST_CHARACTERS = 6000
"""Maximum size of the header. Servers and proxies refuse headers above 8 KiB."""
_VERSION = "v1"
_SIGNATURE_BYTES = 16
_PREFIX = "call_"
_OUR_ID = re.compile("call_[0-9a-f]{32}")
_OURS, _OTHER = b"\x01", b"\x00"
_OVERHEAD = 64


class _Payload(msgspec.Struct, array_like=True):
    truncated: bool
    pairs: list[tuple[bytes, str]]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Payload).decode


class InvalidCallMap(Exception):
    """The header was not signed by this server, for this API key."""


class SignedMap(msgspec.Struct, frozen=True):
    """A map that a client sent. `truncated`: older calls are missing."""

    ids: ToolCallIdMap
    truncated: bool = False


class CallMapSigner(msgspec.Struct, frozen=True):
    """Writes and reads the header."""

    key: bytes

    def write(self, signed: SignedMap, owner: str) -> str:
        """Return the header's value, with as many of the newest calls as fit."""
        pairs = [(_packed(ours), theirs) for ours, theirs in signed.ids.pairs.items()]
        room = (MOST_CHARACTERS - _OVERHEAD) * 3 // 4
        kept: list[tuple[bytes, str]] = []
        for pair in reversed(pairs):
            room -= len(_encode(pair))
            if room < 0:
                break
            kept.append(pair)
        truncated = signed.truncated or len(kept) < len(pairs)
        payload = _base64(_encode(_Payload(truncated, kept[::-1])))
        return f"{_VERSION}.{payload}.{self._signature(payload, owner)}"

    def read(self, value: str, owner: str) -> SignedMap:
        """Decode the map in a header. Raises `InvalidCallMap`."""
        version, _, rest = value.partition(".")
        payload, _, signature = rest.partition(".")
        expected = self._signature(payload, owner).encode()
        genuine = hmac.compare_digest(signature.encode("utf-8", "replace"), expected)
        if version != _VERSION or not genuine:
            raise InvalidCallMap
        try:
            decoded = _decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (msgspec.MsgspecError, binascii.Error) as error:
            raise InvalidCallMap from error
        pairs = {_unpacked(ours): theirs for ours, theirs in decoded.pairs}
        return SignedMap(ToolCallIdMap(pairs), decoded.truncated)

    def _signature(self, payload: str, owner: str) -> str:
        text = f"{HEADER}\0{_VERSION}\0{owner}\0{payload}".encode("utf-8", "replace")
        return _base64(hmac.new(self.key, text, hashlib.sha256).digest()[:_SIGNATURE_BYTES])


def _packed(call_id: str) -> bytes:
    """Encode an id as bytes; Toolwire's own ids take 16 bytes."""
    if _OUR_ID.fullmatch(call_id):
        return _OURS + bytes.fromhex(call_id.removeprefix(_PREFIX))
    return _OTHER + call_id.encode("utf-8", "replace")


def _unpacked(packed: bytes) -> str:
    kind, rest = packed[:1], packed[1:]
    return _PREFIX + rest.hex() if kind == _OURS else rest.decode()


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
