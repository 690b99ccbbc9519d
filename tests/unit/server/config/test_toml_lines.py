"""Every key is named after its line, so that each test can check all of them."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from toolwire.server.config.toml_lines import Path, find_line

TRICKY = '''\
l1 = "a # [not.a.table] = 1" # l1 = 2
"l2" = """
l3 = "in a string"
[not.a.table]
\\""" still " in "" it """
'l6' = \'\'\'
l7 = '' no
\'\'\'
l9 = [1, "]", [ # a comment with ] and "
  2, { l10 = "}" }, { l10 = 1, l10b.l10 = 2 }
]]
l12 = { l12a = "=", l12b = { l12c = ["]", "}"] } }
l13 . "l13.x" = 5e-3
[ l14 . "l14" ] # [l0]
l15 = 1979-05-27T07:32:00Z
[[l16]]
l17 = ''
  [[l16.l18]]
  l19 = """"quoted""""
  [[ l16.l18 ]]
  l21 = "\\\\"
  [l16.l18.l22]
  l23 = "\\""
[[l16]]
[l16.l25]
l26 = """""" # empty
[[l16.l27]]
'''


def leaves(tree: Any, at: Path = ()) -> Iterator[Path]:
    """Every path of a document, tables and elements included."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*at, key))


def line_in_name(path: Path) -> int:
    last = next(part for part in reversed(path) if isinstance(part, str))
    return int("".join(char for char in last.split(".")[0] if char.isdigit()))


@pytest.mark.parametrize("text", [TRICKY, TRICKY.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_every_key_of_a_tricky_document_is_found_on_its_line(text: str) -> None:
    paths = [path for path in leaves(tomllib.loads(text)) if isinstance(path[-1], str)]
    assert len(paths) > 25
    for path in paths:
        assert find_line(text, path) == line_in_name(path), path


def test_a_key_that_is_not_there_is_at_its_table() -> None:
    text = "a = 1\n[b]\nc = 1\n[[d]]\n[[d]]\n"
    assert find_line(text, ("b", "missing")) == 2
    assert find_line(text, ("d", 1, "missing", "deeper")) == 5
    assert find_line(text, ("missing",)) is None


def test_each_element_of_an_array_has_its_own_line() -> None:
    text = "names = [\n  'a',\n  # not counted\n  'b', 'c',\n]\n"
    assert [find_line(text, ("names", i)) for i in range(3)] == [2, 4, 4]
