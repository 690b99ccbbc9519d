"""The model's name in a JSON body that is otherwise passed on as it is."""

import msgspec
from msgspec import Raw


class _Body(msgspec.Struct):
    model: str | None = None


_decode_name = msgspec.json.Decoder(_Body).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode


def named_model(body: bytes) -> str | None:
    """The model that a body names; None if it names none, or is no JSON object."""
    try:
        return _decode_name(body).model
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def with_model(body: bytes, name: str) -> bytes:
    """The body, with another name for the model if it names one; all other values as they are."""
    if named_model(body) in (None, "", name):
        return body
    return _encode({**_decode_fields(body), "model": name})
