"""Decodes the fields of a request body by type, and collects all errors."""

from itertools import islice
from typing import Any, get_type_hints

import msgspec
from msgspec import inspect

from toolwire.errors import RequestError
from toolwire.protocol.json_limits import is_deeper
from toolwire.surfaces.explain import decode, explain
from toolwire.surfaces.native.faults import faults
from toolwire.surfaces.native.problems import MOST, Problems
from toolwire.surfaces.native.wire import ChatRequest

_HINTS = get_type_hints(ChatRequest, include_extras=True)
_TYPES = {name: inspect.type_info(hint) for name, hint in _HINTS.items()}
_DECODERS: dict[str, "msgspec.json.Decoder[Any]"] = {
    name: msgspec.json.Decoder(hint) for name, hint in _HINTS.items()
}
_decode_any = msgspec.json.Decoder()
FIELDS = frozenset(_HINTS)


def read_value(name: str, raw: bytes, problems: Problems) -> Any:
    """Decode a field. If it is invalid, return None and add all errors to `problems`."""
    decoder = _DECODERS[name]
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        found = list(islice(faults(decode(_decode_any, raw, name), _TYPES[name], name), MOST))
        problems.take(found or [explain(error, raw, name)])
    except msgspec.MsgspecError:
        problems.take([_not_json(decoder, raw, name)])
    return None


def _not_json(decoder: "msgspec.json.Decoder[Any]", raw: bytes, name: str) -> RequestError:
    try:
        decode(decoder, raw, name)
    except RequestError as error:
        return error
    raise AssertionError(name)


def check_depth(value: Any, where: str, most: int, problems: Problems) -> None:
    """Refuse a decoded value that is nested too deeply."""
    if isinstance(value, dict | list) and is_deeper(value, most):
        problems.add(where, f"Invalid '{where}': it is nested more than {most} levels deep.")
