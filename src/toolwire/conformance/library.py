"""The bundled cases, and case files in the same format.

A file is `{"format": NAME, "cases": [{"name", "text", "content", "reasoning", "calls", ...}]}`.
`tools` of a case is "standard" for those of `_tools.json`, or a list.
"""

from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from toolwire.conformance.calls import ExtractedToolCall
from toolwire.conformance.case import Pattern, TestCase
from toolwire.conformance.faults import InvalidCases, InvalidEntity
from toolwire.formats import get

_CASES = files("toolwire.conformance") / "cases"


class _Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any]


class _Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    text: str
    content: str | None
    reasoning: str | None
    calls: list[_Call]
    tools: str | list[dict[str, Any]] = "standard"
    note: str = ""
    pattern: Pattern | None = None
    malformed: bool = False
    cut: bool = False
    live: bool = False
    ids: tuple[str, ...] = ()
    deltas: tuple[str, ...] = ()
    splits: tuple[int, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    cases: list[_Case]


def formats_with_cases() -> tuple[str, ...]:
    """The formats that have a file of cases."""
    names = (entry.name for entry in _CASES.iterdir())
    return tuple(sorted(n.removesuffix(".json") for n in names if not n.startswith("_")))


@cache
def cases_of(format_name: str) -> tuple[TestCase, ...]:
    """Return the bundled cases of a format: each one whole, then streamed."""
    try:
        name = get(format_name).name
    except KeyError as error:
        raise InvalidCases(str(error.args[0])) from None
    entry = _CASES / f"{name}.json"
    if not entry.is_file():
        raise InvalidCases(f"there are no cases for {name!r}: add cases/{entry.name}")
    return _read(entry.read_bytes(), entry.name, registered=(name,))


def read_cases(path: Path, registered: Collection[str] = ()) -> tuple[TestCase, ...]:
    """Read a case file. `registered`: the allowed formats; empty means any."""
    try:
        return _read(path.read_bytes(), str(path), registered)
    except OSError as error:
        raise InvalidCases(f"cannot read {path}: {error.strerror or error}") from None


def selected_cases(
    chosen: Collection[str] = (), own: Path | None = None
) -> Iterator[tuple[TestCase, ...]]:
    """Yield the cases of each chosen format, or of all; or those of a custom file."""
    if own:
        cases = read_cases(own)
        if not cases:
            raise InvalidCases(f"{own}: there are no cases in it")
        yield cases
        return
    for name in chosen or formats_with_cases():
        yield cases_of(name)


def _read(data: bytes, name: str, registered: Collection[str]) -> tuple[TestCase, ...]:
    try:
        file = msgspec.json.decode(data, type=_File)
        if registered and file.format not in registered:
            raise InvalidCases(f"{name}: no parser is registered as {file.format!r}")
        pairs = [
            _test_case(case, file.format, streaming=streaming)
            for case in file.cases
            for streaming in (False, True)
        ]
    except (msgspec.MsgspecError, InvalidEntity, UnicodeDecodeError) as error:
        raise InvalidCases(f"{name}: {error}") from None
    _refuse_doubles(pairs, name)
    return tuple(pairs)


def _refuse_doubles(cases: list[TestCase], name: str) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.name in seen:
            raise InvalidCases(f"{name}: two cases are called {case.scenario_name!r}")
        seen.add(case.name)


def _test_case(case: _Case, format_name: str, *, streaming: bool) -> TestCase:
    return TestCase(
        scenario_name=case.name,
        model_output=case.text,
        parser_name=format_name,
        expected_tools_called=bool(case.calls),
        expected_tool_calls=tuple(
            ExtractedToolCall.of(call.name, call.arguments) for call in case.calls
        ),
        expected_content=case.content,
        expected_reasoning=case.reasoning,
        expected_ids=case.ids,
        shortest_id=_shortest_id(format_name),
        streaming_mode=streaming,
        tools=_standard_tools() if isinstance(case.tools, str) else _openai(case.tools),
        pattern=case.pattern,
        malformed=case.malformed,
        cut=case.cut,
        live=case.live,
        deltas=case.deltas,
        splits=case.splits,
        note=case.note,
    )


def _shortest_id(format_name: str) -> int:
    """Return the minimum length of ids. Only generated ids must be long, to avoid collisions."""
    try:
        return 16 if get(format_name).ids == "random" else 1
    except KeyError:
        return 1


@cache
def _standard_tools() -> tuple[dict[str, Any], ...]:
    return _openai(msgspec.json.decode((_CASES / "_tools.json").read_bytes()))


def _openai(tools: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return tools as in an OpenAI request."""
    return tuple({"type": "function", "function": tool} for tool in tools)
