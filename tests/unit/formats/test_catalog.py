"""The records: what belongs to one format is in its record, not in an engine."""

import ast
from pathlib import Path

import pytest

from toolwire.formats import engines
from toolwire.formats.catalog import ALIASES, FORMATS

ENGINES = sorted(Path(engines.__file__).parent.glob("*.py"))
SHORT = 4
"""Markers up to this length, such as a bracket, may be anybody's."""


def literals(module: Path) -> list[str]:
    """The texts in a module's code, without its docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    nodes = (node for node in ast.walk(tree) if not isinstance(node, ast.Expr))
    children = (child for node in nodes for child in ast.iter_child_nodes(node))
    found = (child.value for child in children if isinstance(child, ast.Constant))
    return [value for value in found if isinstance(value, str)]


@pytest.mark.parametrize("module", ENGINES, ids=lambda module: module.stem)
def test_an_engine_knows_no_format(module: Path) -> None:
    markers = {
        marker.strip()
        for record in FORMATS.values()
        for marker in (*record.framing.markers(), *record.special_tokens)
    }
    own = {*FORMATS, *ALIASES, *(marker for marker in markers if len(marker) > SHORT)}
    own -= {"json"}  # also the name of a syntax
    text = "\n".join(literals(module))
    assert [marker for marker in sorted(own) if marker in text] == []
