"""A request body that must be one JSON object: its members and their positions."""

import re

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError
from toolwire.surfaces.explain import explain, not_json, why_not_json

_decode = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_key = msgspec.json.Decoder(str).decode
_GZIP = b"\x1f\x8b"
_COMPRESSED = "it is compressed, which is not supported; send it as it is"
_MOST_MEMBERS = 1000
"""Maximum number of parameters. Unknown ones are accepted, but cost time."""
_KEY = re.compile(rb'[ \t\r\n,]*+("[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\r\n]*+:[ \t\r\n]*+', re.DOTALL)


def read_members(body: bytes) -> dict[str, Raw]:
    """Return the top-level values as raw JSON: views of the body, not copies."""
    try:
        if not body.isascii():
            body.decode()  # msgspec does not validate raw values
        members = _decode(body)
    except msgspec.ValidationError as error:
        raise explain(error, body, "body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = _COMPRESSED if body.startswith(_GZIP) else why_not_json(error, body)
        raise not_json(why) from None
    except RecursionError:
        raise not_json("it is nested too deeply") from None
    if len(members) > _MOST_MEMBERS:
        raise RequestError(
            f"Invalid body: too many properties. Expected an object with at most {_MOST_MEMBERS} "
            f"properties, but got an object with {len(members)} properties instead.",
            code="object_above_max_properties",
        )
    return members


def places(body: bytes, members: dict[str, Raw]) -> dict[str, tuple[int, int]]:
    """Return the start and end of each member's value.

    Raises `RequestError` for a duplicate name. Some parsers take the first value and some the last,
    so a backend could act on a value that was not checked here.
    """
    found: dict[str, tuple[int, int]] = {}
    at = body.index(b"{") + 1
    for name, value in members.items():
        # Members are decoded in order, so the first one that is not at its expected position is
        # a duplicate.
        key = _KEY.match(body, at)
        end = key.end() + len(value) if key else 0
        if key is None or _decode_key(key[1]) != name or body[key.end() : end] != bytes(value):
            raise _repeated(body, at)
        found[name] = (key.end(), end)
        at = end
    if _KEY.match(body, at):
        raise _repeated(body, at)
    return found


def _repeated(body: bytes, at: int) -> RequestError:
    key = _KEY.match(body, at)
    name = _decode_key(key[1])[:100] if key else ""
    return RequestError(
        f"Invalid body: the property '{name}' is given more than once. Send each property once.",
        param=name,
        code="invalid_value",
    )
