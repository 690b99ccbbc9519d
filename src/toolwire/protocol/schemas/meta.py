"""Validates schemas against their meta-schema, offline and in linear time.

jsonschema-rs fetches meta-schemas that it does not know, and compares integers that are equal as
floats with one another when elements must be unique. Neither may be up to a client.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import msgspec

_NAMES = ("draft/2020-12", "draft/2019-09", "draft-07", "draft-06", "draft-04")
_DRAFTS = frozenset(
    f"{scheme}://json-schema.org/{name}/schema" for scheme in ("http", "https") for name in _NAMES
)
_EXACT = 1 << 53
"""Integers up to this are all different as floats."""


class MetaFault(msgspec.Struct, frozen=True):
    """Why a schema is not a schema. `context` is where, if there is such a place."""

    message: str
    context: tuple[str, ...] | None = None


def in_known_draft(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy that names no unknown dialect, so that it is read as 2020-12."""
    schema = dict(schema)
    if not _is_known(schema.get("$schema")):
        schema.pop("$schema", None)
    return schema


def meta_fault(schema: Mapping[str, Any]) -> MetaFault | None:
    """Return what is wrong with a schema, by the draft that it names (default: 2020-12)."""
    draft = schema.get("$schema")
    if draft is not None and not _is_known(draft):
        return MetaFault(f"'$schema' {str(draft)[:100]!r} is unknown", ("$schema",))
    try:
        jsonschema_rs.meta.validate(_tamed(schema) if _has_large_integer(schema) else dict(schema))
    except jsonschema_rs.ValidationError as error:
        return MetaFault(error.message, tuple(str(step) for step in error.instance_path))
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        return MetaFault(str(error).splitlines()[0])
    return None


def _is_known(draft: object) -> bool:
    return isinstance(draft, str) and draft.removesuffix("#") in _DRAFTS


def _has_large_integer(schema: Any) -> bool:
    pending = [schema]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)
        elif isinstance(here, int) and not -_EXACT <= here <= _EXACT:
            return True
    return False


def _tamed(value: Any, *, data: bool = False) -> Any:
    """Return a copy without large integers that is valid if and only if the value is.

    In `enum`, where integers are data that must differ, they become strings, otherwise floats.
    """
    if isinstance(value, dict):
        return {
            key: _tamed(part, data=data or (key == "enum" and isinstance(part, list)))
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_tamed(part, data=data) for part in value]
    if not isinstance(value, int) or -_EXACT <= value <= _EXACT:
        return value
    return str(value) if data else 1e300 * (1 if value > 0 else -1)
