"""What stands beside a type in `Annotated`: a description, and limits in any library's words.

msgspec's `Meta`, annotated-types, pydantic's `Field` and `typing_extensions.Doc` are known by their
attributes, so that none of them need be imported.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

_LIMITS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")
_NUMBER_WORDS = {
    "gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum",
    "multiple_of": "multipleOf",
}  # fmt: skip
_LENGTH_WORDS = {
    "string": {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
}


@dataclass(frozen=True)
class Constraints:
    """A description and limits, such as {"ge": 0, "max_length": 10}."""

    description: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)

    def meta(self, kind: Any) -> Any:
        """The type as msgspec checks it."""
        return Annotated[kind, Meta(**self.limits)] if self.limits else kind

    def words(self, json_type: str) -> dict[str, Any]:
        """The limits as JSON Schema has them, for a type that can have them."""
        words = _LENGTH_WORDS.get(json_type, {})
        if json_type in ("integer", "number"):
            words = _NUMBER_WORDS
        return {words[name]: value for name, value in self.limits.items() if name in words}


def read_constraints(metadata: Iterable[Any]) -> Constraints:
    """What the metadata of `Annotated` says; what is not known is somebody else's."""
    description, limits = "", {}
    for one in _flat(metadata):
        description = _description(one) or description
        limits.update(_limits(one))
    return Constraints(description, limits)


def _flat(metadata: Iterable[Any]) -> Iterator[Any]:
    """pydantic's Field holds a list of others; annotated-types' groups can be iterated."""
    for one in metadata:
        yield one
        inner = getattr(one, "metadata", None)
        if isinstance(inner, list):
            yield from _flat(inner)
        elif getattr(one, "__is_annotated_types_grouped_metadata__", False):
            yield from _flat(one)


def _description(one: Any) -> str:
    if isinstance(one, str):
        return one
    for name in ("description", "documentation"):
        if isinstance(text := getattr(one, name, None), str):
            return text
    return ""


def _limits(one: Any) -> dict[str, Any]:
    if isinstance(one, str) or getattr(one, "__is_annotated_types_grouped_metadata__", False):
        return {}
    found = {name: getattr(one, name, None) for name in _LIMITS}
    pattern = found["pattern"]
    found["pattern"] = getattr(pattern, "pattern", pattern)
    return {name: value for name, value in found.items() if isinstance(value, int | float | str)}
