"""A value written as plain text -> JSON, by the types the tool's schema allows. One table.

Formats whose values carry no type (tagged parameters, escaped strings) come here. The order of the
attempts is the contract: null, integer, number, boolean, object or array, string. A property that
can only be a string is never converted, and what fits no allowed type stays the text it was.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from toolwire.formats import json_text, scalars
from toolwire.formats.python_text import python_to_json

Types: TypeAlias = frozenset[str]
STRING: Types = frozenset({"string"})
_MAX_HOPS = 24  # through $ref and combinators; a schema may refer to itself

_BOOLEANS = {"true": "true", "false": "false", "True": "true", "False": "false"}
_INTEGER = re.compile(r"[-+]?+[0-9]++")
_TYPE_OF: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
    (type(None), "null"),
)


def types_of(schema: Any, root: Mapping[str, Any], hops: int = _MAX_HOPS) -> Types:
    """The JSON types that `schema` allows; empty when it does not say."""
    if not isinstance(schema, Mapping) or hops == 0:
        return frozenset()
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, Iterable):
        return frozenset(t for t in declared if isinstance(t, str))
    if "$ref" in schema:
        return types_of(_follow(schema["$ref"], root), root, hops - 1)
    if "const" in schema or isinstance(schema.get("enum"), list):
        return frozenset(map(_type_name, schema.get("enum") or [schema.get("const")]))
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return _union(types_of(part, root, hops - 1) for part in schema[key])
    if isinstance(schema.get("allOf"), list):
        return _common(types_of(part, root, hops - 1) for part in schema["allOf"])
    return frozenset({"object"}) if "properties" in schema else frozenset()


def _union(parts: Iterable[Types]) -> Types:
    return frozenset().union(*parts)


def _common(parts: Iterable[Types]) -> Types:
    stated = [part for part in parts if part]
    return frozenset.intersection(*stated) if stated else frozenset()


def _type_name(value: Any) -> str:
    return next((name for kind, name in _TYPE_OF if isinstance(value, kind)), "string")


def _follow(ref: Any, root: Mapping[str, Any]) -> Any:
    """What a local `$ref` points to; None when it leads nowhere."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    target: Any = root
    for part in ref[1:].strip("/").split("/") if ref != "#" else ():
        if not isinstance(target, Mapping):
            return None
        target = target.get(part.replace("~1", "/").replace("~0", "~"))
    return target


def is_text(types: Types) -> bool:
    """Whether a value of these types is always the text itself, so that it may be streamed."""
    return not types or types == STRING


def quote(text: str) -> str:
    """`text` as a JSON string."""
    return f'"{json_text.escape(text)}"'


def coerce(text: str, types: Types) -> str:
    """`text` as JSON of one of `types`."""
    if not is_text(types):
        stripped = text.strip()
        for allowed, convert in _ATTEMPTS:
            if types & allowed and (converted := convert(stripped)) is not None:
                return converted
    return quote(text)


def any_json(text: str) -> str | None:
    """`text` if it is one JSON value, whatever its type."""
    stripped = text.strip()
    if stripped and json_text.end_of_value(stripped, 0) == len(stripped):
        return stripped
    return None


def _null(text: str) -> str | None:
    return "null" if text in ("null", "None") else None


def _integer(text: str) -> str | None:
    if _INTEGER.fullmatch(text):
        return scalars.from_python_bare(text)
    return text if scalars.is_number(text) and re.fullmatch(r"-?[0-9]+\.0+", text) else None


def _number(text: str) -> str | None:
    converted = scalars.from_python_bare(text)
    return converted if converted is not None and scalars.is_number(converted) else None


def _container(text: str) -> str | None:
    if text[:1] not in ("{", "[", "("):
        return None
    return any_json(text) or python_to_json(text)


_ATTEMPTS: tuple[tuple[Types, Callable[[str], str | None]], ...] = (
    (frozenset({"null"}), _null),
    (frozenset({"integer"}), _integer),
    (frozenset({"number"}), _number),
    (frozenset({"boolean"}), _BOOLEANS.get),
    (frozenset({"object", "array"}), _container),
)


def to_json(value: Any) -> str:
    """A decoded value as JSON, every character as it is."""
    return json.dumps(value, ensure_ascii=False)


def type_name(value: Any) -> str:
    """The JSON type of a decoded value, as attributes name it."""
    name = _type_name(value)
    return "number" if name == "integer" else name
