"""The records: what belongs to one format is in its record, not in an engine."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import fields

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


FOR_ONE_FORMAT = {
    "Channels.quotable": "glm4_0414",
    "Channels.unstarted": "muse_glimmer",
    "HeadJson.broken_body": "openai",
    "HeadJson.raw": "functionary_v32",
    "JsonCalls.answer_key": "generic",
    "JsonCalls.atomic": "xlam",
    "JsonCalls.name_is_key": "apertus",
    "LaxObject.typed": "functiongemma",
    "Markers.echoes": "lfm2",
    "Markers.reasoning_calls": "trinity",
    "PyCalls.code": "gemma3",
    "PyCalls.suffix": "llama3_json",
    "PyCalls.wrappers": "gemma3",
    "RawBody.key": "functionary_v32",
    "Tagged.declared": "cline_xml",
    "Tagged.glyphs": "minicpm5",
    "Tagged.json_tags": "kimi_k3",
    "Tagged.tree": "minimax_m3",
    "Tagged.type_tags": "k2_horizon",
    "Tagged.undeclared": "cline_xml",
    "Writing.escape_attributes": "kimi_k3",
}
"""What only one model does, and no general rule covers. The docstring of each says what it is.
A new one is the last resort: look first whether what others have can be made to fit."""


def options_of(part: object) -> Iterator[tuple[str, bool]]:
    """The options of a part of a record, and of its parts, and whether each is set."""
    if isinstance(part, tuple):
        for one in part:
            yield from options_of(one)
    if not isinstance(part, msgspec.Struct):
        return
    for option in fields(part):
        value = getattr(part, option.name)
        if option.default is not msgspec.NODEFAULT:
            yield f"{type(part).__name__}.{option.name}", value != option.default
        yield from options_of(value)


def test_an_option_is_for_two_formats_or_listed_here() -> None:
    users: dict[str, set[str]] = defaultdict(set)
    kinds: dict[str, set[str]] = defaultdict(set)
    for name, record in FORMATS.items():
        for option, is_set in options_of(record):
            kinds[option.partition(".")[0]].add(name)
            users[option] |= {name} if is_set else set()
    alone = {
        option: min(names)
        for option, names in users.items()
        if len(names) == 1 and len(kinds[option.partition(".")[0]]) > 1
    }
    assert alone == FOR_ONE_FORMAT
