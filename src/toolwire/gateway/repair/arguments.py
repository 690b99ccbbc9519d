"""Parses arguments strictly, validates them, and describes what is wrong."""

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from toolwire.gateway.repair.costly import Allowance, TooCostly
from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.json_limits import TOO_DEEP, is_deep_text
from toolwire.protocol.json_numbers import decode_any
from toolwire.protocol.tools import ToolSet

_MOST_FAULTS = 5
_MOST_SHOWN = 240
_LARGE = 16 * 1024
_SMALL = 1024
"""Characters that are decoded at no notable cost, even a thousand times."""
_MOST_NESTED = 100_000
"""The most objects and arrays in a text that is searched for its depth."""
_MOST_TOOLS = 32
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_NOT_SAID = "they do not match the schema, and the details are too long to list"


class NotJson(Exception):
    """The text is not JSON, or not the expected JSON. The message says why."""


def read_object(text: str) -> dict[str, Any]:
    """Parse a JSON object. Raises `NotJson`, also for duplicate keys: parsers differ on them."""
    value = _read_loosely(text)
    if not isinstance(value, dict):
        raise NotJson(f"expected a JSON object, but got {brief(text.strip())}")
    if text.count(":") != len(value):  # otherwise each pair that is written has a key of its own
        _check_keys(text)
    return value


def is_object(text: str) -> bool:
    """Whether clients can decode `text` as a JSON object. Duplicate keys are accepted, because
    clients take the last one. The values of a large text are not decoded."""
    try:
        if len(text) > _LARGE:
            _skip(text)
            nested = text.count("{") + text.count("[")
            return text.lstrip()[:1] == "{" and nested <= _MOST_NESTED and not is_deep_text(text)
        return isinstance(_read_loosely(text), dict)
    except (NotJson, msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False


def read_json(text: str) -> Any:
    """Parse a JSON value strictly. Raises `NotJson`."""
    value = _read_loosely(text)
    _check_keys(text)
    return value


def _check_keys(text: str) -> None:
    """Raise `NotJson` if a key occurs twice in an object."""
    try:
        _read_once(text)
    except RecursionError:
        raise NotJson(TOO_DEEP) from None
    except ValueError as error:
        raise NotJson(str(error)) from None


def _read_loosely(text: str) -> Any:
    """Parse a JSON value that may have duplicate keys."""
    try:
        # This parser refuses what JSON does not allow: NaN, 1e999, half a surrogate pair.
        value = decode_any(text)
        if is_deep_text(text):
            raise NotJson(TOO_DEEP)
    except UnicodeEncodeError:
        raise NotJson("it contains half of a surrogate pair") from None
    except RecursionError:
        raise NotJson(TOO_DEEP) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise NotJson(str(error)) from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"the key {brief(repr(key))} occurs twice")
        seen.add(key)


_read_once = json.JSONDecoder(object_pairs_hook=_once, parse_float=str, parse_int=str).decode


def fits(value: Any, validator: Any) -> bool:
    """Whether a value matches its schema. One that is nested too deeply does not."""
    try:
        return bool(validator.is_valid(value))
    except ValueError:
        return False


def faults(value: Any, validator: Any, size: int) -> list[str]:
    """Describe the errors in a value of `size` characters, each with its location.

    Listing all errors is slow, so only the first is returned for a large value.
    """
    try:
        if size <= _LARGE:
            return [_fault(error) for error in islice(validator.iter_errors(value), _MOST_FAULTS)]
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [_fault(error)]
    except ValueError as error:
        return [brief(str(error))]
    return []


def _fault(error: jsonschema_rs.ValidationError) -> str:
    place = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in error.instance_path)
    return (
        f"at '{brief(place.lstrip('.'))}': {brief(error.message)}"
        if place
        else brief(error.message)
    )


def brief(text: str) -> str:
    """Shorten a text to its two ends: a message ends with what is wrong."""
    if len(text) <= _MOST_SHOWN:
        return text
    half = _MOST_SHOWN // 2
    return f"{text[:half]}…{text[-half:]}"


def unknown_tool(index: int, name: str, tools: Iterable[str]) -> Finding:
    """Return the finding for a call of an unknown tool."""
    known = sorted(tools)
    more = f" and {len(known) - _MOST_TOOLS} more" if len(known) > _MOST_TOOLS else ""
    listed = ", ".join(known[:_MOST_TOOLS]) + more
    text = f"there is no tool '{brief(name)}'. The tools are: {listed}."
    return Finding("unknown_tool_call", index, name, text)


def check_call(
    index: int, name: str, text: str, tools: ToolSet, allowance: Allowance
) -> Finding | None:
    """Return what is wrong with a call; None if it is valid. Raises `TooCostly`."""
    tool = tools.tools.get(name)
    if tool is None:
        return unknown_tool(index, name, tools.tools)
    if tool.kind == "custom":
        return None
    if len(text) > _SMALL:
        allowance.read(text)
    try:
        value = read_object(text)
    except NotJson as error:
        return Finding("malformed_tool_arguments", index, name, f"not valid JSON: {error}.")
    validator = tools.validators[name]
    if validator is None:
        raise TooCostly
    cost = tools.costs.get(name)
    allowance.spend(cost, text)
    if not fits(value, validator):
        explained = allowance.explains(cost, text)
        wrong = faults(value, validator, len(text)) if explained else [_NOT_SAID]
        return Finding("invalid_tool_arguments", index, name, f"{'; '.join(wrong)}.")
    return None
