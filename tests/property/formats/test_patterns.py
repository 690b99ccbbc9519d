"""No regular expression that can backtrack, and no format that a flood of openers slows down."""

import ast
import json
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import laws
import pytest
from cases import standard_tools
from patterns import loops_that_backtrack

import toolwire
from toolwire.formats import get, names, parser_for

HERE = Path(__file__).parent
SOURCE = Path(toolwire.__file__).parent

# module, how its pattern begins: why it may backtrack. None of these reads a model's text.
MAY_BACKTRACK = {
    ("toolwire.server.config_values", "[A-Za-z0-9]([A-Za-z0-9.-]*"): "a host name in the settings",
    ("toolwire.server.toml_lines", r"(?:[\s,]|#[^\n]*)*"): "the operator's own file",
    ("toolwire.server.toml_lines", '"""(?:'): "the operator's own file",
    ("toolwire.protocol.explain", ".*tool_calls"): "one star at the front of a short path",
    ("toolwire.protocol.explain", "^(?P<what>.*?)"): "msgspec's errors: what repeats ends at once",
    ("toolwire.protocol.explain", "Object missing"): "one plus before the last character",
    ("toolwire.protocol.patterns", r"\\[pP]"): "of at most 1,000 characters",
    ("toolwire.protocol.patterns", r"\.|\[\^.*"): "of at most 1,000 characters",
}
# Patterns made of data, which cannot be read in the source; what they make is judged all the same.
MADE_OF_DATA = {"formats/lexer.py", "formats/neutral.py", "formats/detect.py"}
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


@pytest.mark.parametrize("name", names())
def test_a_flood_of_one_opener_costs_linear_time(name: str) -> None:
    make = partial(parser_for, name, standard_tools(), delivery="whole")
    own = get(name).framing.markers()[:2]
    for opener in dict.fromkeys(("<tool_call>", "[a(", '{"', "<think>", "/", *own)):
        flood = partial(_repeat, opener)
        laws.time_is_linear(make, flood, 32_768, chunk=1 << 20)


def _repeat(opener: str, size: int) -> str:
    return (opener * (size // len(opener) + 1))[:size]
