"""Tools of Python files."""

import sys
from pathlib import Path

import pytest

from toolwire.cli.chat.python_tools import load_tools
from toolwire.cli.usage_error import UsageError

EXAMPLE = Path(__file__).parents[4] / "examples" / "my_tools.py"
FUNCTION = """
from __future__ import annotations
from dataclasses import dataclass
from toolwire import Toolbox, tool

@dataclass
class Place:
    city: str

@tool
def {name}(place: Place) -> str:
    return place.city

def helper(x: int) -> int:
    return x
"""


@pytest.fixture(autouse=True)
def own_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders of loaded files are added to the search path: not for the tests that follow."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_example_can_be_used() -> None:
    box = load_tools((EXAMPLE,))
    assert box.names == ["get_time", "list_files", "count_down"]
    assert "my_tools.py" in box.call("list_files", {"folder": str(EXAMPLE.parent)})
    assert all(one.strict and one.description for one in box)


def test_only_what_is_marked_is_a_tool_whatever_the_file_is_called(tmp_path: Path) -> None:
    first = write(tmp_path, "json.py", FUNCTION.format(name="first"))
    second = write(tmp_path, "my-tools.py", FUNCTION.format(name="second"))
    box = load_tools((first, second))
    assert box.names == ["first", "second"]
    assert box.call("second", {"place": {"city": "Paris"}}) == "Paris"


def test_a_list_called_tools_says_which(tmp_path: Path) -> None:
    text = FUNCTION.format(name="first") + "\ntools = [helper]\n"
    assert load_tools((write(tmp_path, "a.py", text),)).names == ["helper"]
    text = FUNCTION.format(name="first") + "\nbox = Toolbox(first).prefixed('x_')\n"
    assert load_tools((write(tmp_path, "b.py", text),)).names == ["first", "x_first"]


def test_two_files_with_the_same_tool_are_refused(tmp_path: Path) -> None:
    paths = tuple(write(tmp_path, name, FUNCTION.format(name="f")) for name in ("a.py", "b.py"))
    with pytest.raises(UsageError, match=r"b\.py: Two tools are called 'f'"):
        load_tools(paths)
