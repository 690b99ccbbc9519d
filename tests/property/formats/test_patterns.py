"""No pattern that can backtrack, and no format that a flood of openers slows down (R2)."""

import ast
import json
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import laws
import pytest
from cases import parse, standard_tools
from floods import OPENERS, hostile_texts, own, repeat
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from patterns import loops_that_backtrack

import toolwire
from toolwire.formats import Parser, Trace, get, names, parser_for
from toolwire.formats.engines.begin import ANYTHING, Begin
from toolwire.formats.reader import Need
from toolwire.formats.turn_state import FormatEngine, Opening, TurnState

HERE = Path(__file__).parent
SOURCE = Path(toolwire.__file__).parent

# module, how its pattern begins: why it may backtrack. None of these reads a model's text.
MAY_BACKTRACK = {
    ("toolwire.server.config.values", "[A-Za-z0-9]([A-Za-z0-9.-]*"): "a host name in the settings",
    ("toolwire.server.config.toml_lines", r"(?:[\s,]|#[^\n]*)*"): "the operator's own file",
    ("toolwire.server.config.toml_lines", '"""(?:'): "the operator's own file",
    ("toolwire.surfaces.explain", ".*tool_calls"): "one star at the front of a short path",
    ("toolwire.surfaces.explain", "Object missing"): "one plus before the last character",
    ("toolwire.backends.openai.error_kinds", ""): "of at most 500 characters",
    ("toolwire.client.tools.docstring", "^"): "the docstring of the user's own function",
    ("toolwire.protocol.schemas.patterns", r"\\[pP]"): "of at most 1,000 characters",
    ("toolwire.protocol.schemas.patterns", r"\.|\[\^.*"): "of at most 1,000 characters",
}
# Patterns made of data, which cannot be read in the source; what they make is judged all the same.
MADE_OF_DATA = {
    "formats/rendering/escape_calls.py",
    "formats/lexer.py",
    "formats/rendering/escape_markers.py",
    "formats/detection/detect.py",
    "formats/arguments/scalars.py",
    "formats/detection/signatures.py",
    "formats/engines/head_json.py",
    "formats/opened_reasoning.py",
    "formats/stripped.py",
    "server/router.py",
    "surfaces/native/faults.py",
}
_USES = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}


@cache
def every_pattern() -> list[tuple[str, str, int]]:
    command = [sys.executable, str(HERE / "list_patterns.py")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [(module, text, flags) for module, text, flags in map(json.loads, printed.splitlines())]


def _reason(module: str, text: str) -> str:
    excuses = ((m, start, why) for (m, start), why in MAY_BACKTRACK.items())
    return next((why for m, start, why in excuses if m == module and text.startswith(start)), "")


def test_no_pattern_can_backtrack_without_a_reason() -> None:
    assert len(every_pattern()) > 300
    ambiguous = [(m, t) for m, t, flags in every_pattern() if loops_that_backtrack(t, flags)]
    assert [(m, t) for m, t in ambiguous if not _reason(m, t)] == []


def test_no_pattern_of_the_formats_is_excused() -> None:
    assert not [module for module, _ in MAY_BACKTRACK if module.startswith("toolwire.formats")]


def test_every_excuse_is_still_needed() -> None:
    ambiguous = [(m, t) for m, t, flags in every_pattern() if loops_that_backtrack(t, flags)]
    for module, start in MAY_BACKTRACK:
        assert any(m == module and t.startswith(start) for m, t in ambiguous), (module, start)


def test_patterns_made_of_data_are_made_in_few_places() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            module = node.func.value
            if isinstance(module, ast.Name) and module.id == "re" and node.func.attr in _USES:
                constant = isinstance(node.args[0], ast.Constant) or _at_import(node, path)
                found |= set() if constant else {path.relative_to(SOURCE).as_posix()}
    assert found == MADE_OF_DATA


def _at_import(node: ast.Call, path: Path) -> bool:
    """Whether the call stands outside of all functions, so that listing the patterns sees it."""
    tree = ast.parse(path.read_text("utf-8"))
    functions = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)]
    return not any(f.lineno <= node.lineno <= (f.end_lineno or 0) for f in functions)


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "a*a", r"(\w+\s?)*$", ".*x", "(?:a*)*b", "(?:ab|a.)*c", r"a*?b.*c"]
)
def test_a_pattern_that_backtracks_is_seen(pattern: str) -> None:
    assert loops_that_backtrack(pattern)


@pytest.mark.parametrize(
    "pattern", ["a*+a", "(?>a+)a", r"\s*\S", '"[^"]*"', r"(?:[./]\w+)*", "a{1,64}b", "[a-z]+"]
)
def test_a_pattern_that_cannot_is_left_alone(pattern: str) -> None:
    assert not loops_that_backtrack(pattern)


@pytest.mark.timed
@pytest.mark.parametrize("name", names())
def test_a_flood_of_one_opener_costs_linear_time(name: str) -> None:
    make = partial(parser_for, name, standard_tools(), delivery="whole")
    for flood in dict.fromkeys((*OPENERS, *own(name)[::5])):
        laws.time_is_linear(make, partial(repeat, flood), 8_192, chunk=1 << 20)


@pytest.mark.timed
@pytest.mark.parametrize("name", names())
def test_a_flood_of_openers_costs_less_than_as_much_prose_in_pieces(name: str) -> None:
    make = partial(parser_for, name, standard_tools(), delivery="whole")
    for flood in OPENERS:
        laws.flood_is_cheap(make, repeat(flood, 16_384), chunk=1 << 20, times=1)


@pytest.mark.timed
@pytest.mark.parametrize("name", names())
def test_a_flood_in_pieces_costs_little_more_than_prose_in_pieces(name: str) -> None:
    make = partial(parser_for, name, standard_tools())
    for flood in OPENERS:
        laws.flood_is_cheap(make, repeat(flood, 8_192), chunk=4, times=6)


@pytest.mark.timed
@pytest.mark.parametrize("name", names())
def test_a_flood_of_a_format_s_own_markers_is_cheap(name: str) -> None:
    make = partial(parser_for, name, standard_tools(), delivery="whole")
    for flood in own(name):
        laws.flood_is_cheap(make, repeat(flood, 16_384), chunk=1 << 20, times=4)


class Asking:
    """An engine that says that anything may be the beginning of a call."""

    def __init__(self, engine: FormatEngine) -> None:
        self._engine = engine

    def begins(self, *, bare: bool) -> Begin:
        return ANYTHING

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        return self._engine.read(turn, opening)


def asking(name: str, trace: Trace | None = None) -> Parser:
    """A parser that passes over no opener."""
    format_ = get(name)
    return Parser(
        replace(format_, engine=Asking(format_.engine)),
        standard_tools(),
        delivery="whole",
        trace=trace,
    )


@pytest.mark.timed
def test_asking_an_engine_about_every_opener_breaks_the_law_of_floods() -> None:
    flood = repeat("[", 16_384)
    with pytest.raises(AssertionError):
        laws.flood_is_cheap(partial(asking, "json"), flood, chunk=1 << 20, times=1)


@pytest.mark.parametrize("name", names())
def test_no_call_is_passed_over(name: str) -> None:
    @settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(hostile_texts(name))
    def check(text: str) -> None:
        asked, trace = Trace(), Trace()
        parse(asking(name, asked), [text])
        first = next((span for span in asked.spans if span.kind == "call"), None)
        if first is not None:  # what stands before it may be read otherwise, so it is left out
            rest = text[first.start :]
            asked.spans.clear()
            parse(asking(name, asked), [rest])
            parse(parser_for(name, standard_tools(), delivery="whole", trace=trace), [rest])
            assert trace.spans[:1] == asked.spans[:1]

    check()
