"""Safe repairs of arguments: a table of small, named rules that can be disabled.

A rule fires only when the tool's schema makes the fix unambiguous. A change is kept only if the
arguments are valid afterwards, or if it turned other text into JSON. Rules never complete truncated
text, drop what the schema allows, invent a value, or guess by similarity.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import structs

from toolwire.formats.arguments.scalars import is_number
from toolwire.formats.arguments.schema import Schema, Types, type_name
from toolwire.gateway.repair.arguments import NotJson, check_call, fits, read_json, read_object
from toolwire.gateway.repair.costly import Allowance, CheckedCall, TooCostly
from toolwire.gateway.repair.lenient import tidied
from toolwire.protocol.free_text import unwrap_text, wrap_text
from toolwire.protocol.tools import ToolSet

T = TypeVar("T")
Change: TypeAlias = tuple[Any]
"""A replacement value, in a tuple because it may be None."""

_MOST_VALUES = 10_000
"""The most values to examine: this blocks the event loop, so larger arguments are skipped."""
_DEEPEST = 64
_NUMBERS = frozenset({"integer", "number"})
_CONTAINERS = frozenset({"object", "array"})
_OPENERS = ("{", "[")
_BOOLEANS = {"true": True, "false": False, "True": True, "False": False}


class TextRule(msgspec.Struct, frozen=True):
    """Turns other text into a JSON object, or returns None if the rule does not apply."""

    name: str
    does: str
    repair: Callable[[str], str | None]


class ValueRule(msgspec.Struct, frozen=True):
    """Converts a value to a type that its schema allows, or returns None."""

    name: str
    does: str
    repair: Callable[[Any, Types, Schema], Change | None]


def _empty(text: str) -> str | None:
    return "{}" if text.strip() in ("", "null", '""') else None


def _unquoted(text: str) -> str | None:
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None


def _nested(value: Any, types: Types, _schema: Schema) -> Change | None:
    if not isinstance(value, str) or not types & _CONTAINERS or value.strip()[:1] not in _OPENERS:
        return None
    try:
        inner = read_json(value)
    except NotJson:
        return None
    return (inner,) if type_name(inner) in types else None


def _number(value: Any, types: Types, _schema: Schema) -> Change | None:
    if not isinstance(value, str) or not (types & _NUMBERS and types <= _NUMBERS | {"null"}):
        return None
    text = value.strip()
    try:
        return (msgspec.json.decode(text),) if is_number(text) else None
    except msgspec.MsgspecError:  # 1e999
        return None


def _boolean(value: Any, types: Types, _schema: Schema) -> Change | None:
    if not isinstance(value, str) or not ("boolean" in types and types <= {"boolean", "null"}):
        return None
    text = value.strip()
    return (_BOOLEANS[text],) if text in _BOOLEANS else None


def _wrapped(value: Any, types: Types, schema: Schema) -> Change | None:
    if "array" not in types or value is None or isinstance(value, list):
        return None
    if isinstance(value, str) and value.strip()[:1] in _OPENERS:
        return None  # a malformed array or object, written as a string
    return ([value],) if _allows(schema.items().types(), value) else None


TEXT_RULES = (
    TextRule("empty_arguments", "nothing, `null` or an empty string becomes `{}`", _empty),
    TextRule("string_arguments", "an object in a JSON string is decoded once", _unquoted),
    TextRule(
        "lenient_json",
        "trailing commas, Python's True, False and None, single quotes, unquoted keys and raw "
        "line breaks in strings are converted to JSON",
        tidied,
    ),
)
VALUE_RULES = (
    ValueRule(
        "nested_json",
        "an object or array in a string is decoded, if the schema requires one and allows no "
        "string",
        _nested,
    ),
    ValueRule(
        "number_from_string",
        '`"5"` becomes `5`, if the schema allows only numbers',
        _number,
    ),
    ValueRule(
        "boolean_from_string",
        '`"true"` becomes `true`, if the schema allows only booleans',
        _boolean,
    ),
    ValueRule(
        "wrap_in_array",
        "a single value becomes `[value]`, if the schema requires an array of such values",
        _wrapped,
    ),
)


class RepairRules(msgspec.Struct, frozen=True):
    """The enabled rules."""

    text_rules: tuple[TextRule, ...] = TEXT_RULES
    value_rules: tuple[ValueRule, ...] = VALUE_RULES

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules."""
        return tuple(rule.name for rule in self.text_rules) + tuple(
            rule.name for rule in self.value_rules
        )

    def without(self, off: Iterable[str]) -> "RepairRules":
        """Return a copy without these rules."""
        names = frozenset(off)
        return RepairRules(
            tuple(rule for rule in self.text_rules if rule.name not in names),
            tuple(rule for rule in self.value_rules if rule.name not in names),
        )

    def repair(
        self, index: int, name: str, text: str, tools: ToolSet, allowance: Allowance
    ) -> CheckedCall:
        """Validate the arguments of call `index`, and repair them if needed and possible. Raises
        `TooCostly` if validation exceeds the allowance."""
        finding = check_call(index, name, text, tools, allowance)
        if finding is None or finding.code == "unknown_tool_call":
            return CheckedCall(text, finding=finding)
        allowance.repair(text)
        parameter = tools.tools[name].free_text
        if parameter and (said := unwrap_text(text, parameter)) is not None:
            return CheckedCall(wrap_text(said, parameter), ("free_text",))
        as_object = self._as_object(text)
        if as_object is None:
            return CheckedCall(text, finding=finding)
        checked, value = as_object
        validator = tools.validators[name]
        if finding.code == "malformed_tool_arguments":
            allowance.spend(tools.costs.get(name), text)
        if validator is None:
            raise TooCostly
        if checked.repairs and fits(value, validator):
            return checked
        walk = _Walk(self.value_rules)
        schema = tools.tools[name].parameters
        repaired = walk.repaired(value, Schema(schema, schema))
        if walk.used and not walk.exhausted and fits(repaired, validator):
            used = (*checked.repairs, *dict.fromkeys(walk.used))
            return CheckedCall(msgspec.json.encode(repaired).decode(), used)
        finding = check_call(index, name, checked.arguments, tools, allowance)
        return structs.replace(checked, finding=finding)

    def as_json(self, text: str) -> str | None:
        """Return the text as a JSON object, without a schema; None if that is impossible."""
        found = self._as_object(text)
        return None if found is None else found[0].arguments

    def _as_object(self, text: str) -> tuple[CheckedCall, dict[str, Any]] | None:
        """Return the text as a JSON object, using each rule at most once."""
        left = list(self.text_rules)
        used: list[str] = []
        while True:
            try:
                return CheckedCall(text, tuple(used)), read_object(text)
            except NotJson:
                for rule in left:
                    if (repaired := rule.repair(text)) is not None and repaired != text:
                        break
                else:
                    return None
            left.remove(rule)
            used.append(rule.name)
            text = repaired


EVERY_RULE = RepairRules()
RULE_NAMES = EVERY_RULE.names


class _Walk:
    """Visits every value that the schema describes once, and repairs wrong types."""

    def __init__(self, rules: tuple[ValueRule, ...]) -> None:
        self.used: list[str] = []
        self._rules = rules
        self._seen = 0
        self._types: dict[int, Types] = {}
        self._properties: dict[int, Mapping[str, Any]] = {}
        self._items: dict[int, Schema] = {}

    @property
    def exhausted(self) -> bool:
        """Whether there were too many values to examine."""
        return self._seen > _MOST_VALUES

    def repaired(self, value: Any, schema: Schema, depth: int = 0) -> Any:
        """Return the value with repaired parts."""
        self._seen += 1
        types = _once(self._types, schema, Schema.types)
        if self.exhausted or not types or depth == _DEEPEST:
            return value
        if not _allows(types, value):
            value = self._changed(value, types, schema)
        if isinstance(value, dict):
            properties = _once(self._properties, schema, Schema.properties)
            return {
                key: self.repaired(part, Schema(properties[key], schema.root), depth + 1)
                if key in properties
                else part
                for key, part in value.items()
            }
        if isinstance(value, list):
            items = _once(self._items, schema, Schema.items)
            return [self.repaired(part, items, depth + 1) for part in value]
        return value

    def _changed(self, value: Any, types: Types, schema: Schema) -> Any:
        for rule in self._rules:
            if (change := rule.repair(value, types, schema)) is not None:
                self.used.append(rule.name)
                return change[0]
        return value


def _once(known: dict[int, T], schema: Schema, say: Callable[[Schema], T]) -> T:
    """Cache what a schema says, which is the same for every element of an array."""
    place = id(schema.node)
    if place not in known:
        known[place] = say(schema)
    return known[place]


def _allows(types: Types, value: Any) -> bool:
    """Whether a value has one of these types: an integer is a number, and 2.0 is an integer."""
    kind = type_name(value)
    if kind in types:
        return True
    if kind == "integer":
        return "number" in types
    return kind == "number" and "integer" in types and value.is_integer()
