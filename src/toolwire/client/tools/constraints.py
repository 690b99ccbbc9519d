"""Reads the metadata of `Annotated`: a description, and constraints of any library.

msgspec's `Meta`, annotated-types, pydantic's `Field` and `typing_extensions.Doc` are recognized by
their attributes, so none of them is imported.
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
    """A description and constraints, such as {"ge": 0, "max_length": 10}."""

    description: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)

    def meta(self, kind: Any) -> Any:
        """Return the type as msgspec validates it."""
        return Annotated[kind, Meta(**self.limits)] if self.limits else kind

    def words(self, json_type: str) -> dict[str, Any]:
        """Return the constraints as JSON Schema keywords, if they apply to the type."""
        words = _LENGTH_WORDS.get(json_type, {})
        if json_type in ("integer", "number"):
            words = _NUMBER_WORDS
        return {words[name]: value for name, value in self.limits.items() if name in words}


def read_constraints(metadata: Iterable[Any]) -> Constraints:
    """Read the metadata of `Annotated`. Unknown metadata is ignored."""
    description, limits = "", {}
    for one in _flat(metadata):
        description = _description(one) or description
        limits.update(_limits(one))
    return Constraints(description, limits)


def _flat(metadata: Iterable[Any]) -> Iterator[Any]:
    """Flatten metadata: pydantic's Field contains a list, annotated-types' groups are iterable."""
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
