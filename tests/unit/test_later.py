"""Names that are loaded later exist: no type checker sees them."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import toolwire
from toolwire.later import Later

ROOT = Path(toolwire.__file__).parent


def named() -> list[tuple[str, str]]:
    """Every `Later(module, name)` in the sources."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in sorted(ROOT.rglob("*.py")))
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    texts = (
        [part.value for part in call.args if isinstance(part, ast.Constant)]
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "Later"
    )
    return [(module, name) for module, name in texts]


@pytest.mark.parametrize(("module", "name"), named())
def test_it_names_something(module: str, name: str) -> None:
    assert Later[object](module, name)() is getattr(import_module(module), name)


def test_some_are_found() -> None:
    assert len(named()) > 5
