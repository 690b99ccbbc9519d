"""One name, one thing: no class of the package shares its name with another."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "toolwire"


def defined(module: ast.Module) -> Iterator[tuple[str, bool]]:
    """The public types of a module, and whether each is a class rather than an alias."""
    for node in module.body:
        match node:
            case ast.ClassDef(name):
                yield name, True
            case ast.AnnAssign(ast.Name(name), ast.Name("TypeAlias")):
                yield name, False


def places(source: Path) -> tuple[Mapping[str, list[Path]], set[str]]:
    """Where each public type of a package is defined, and which of them are classes."""
    found, classes = defaultdict(list), set()
    for path in sorted(source.rglob("*.py")):
        for name, is_class in defined(ast.parse(path.read_text(encoding="utf-8"))):
            if not name.startswith("_"):
                found[name].append(path)
                classes |= {name} if is_class else set()
    return found, classes


def repeated(source: Path) -> dict[str, list[Path]]:
    """Names of classes that name something else too, and where."""
    found, classes = places(source)
    return {name: paths for name, paths in found.items() if name in classes and len(paths) > 1}


def test_no_class_shares_its_name_with_another_type() -> None:
    assert repeated(SOURCE) == {}


def write(folder: Path, path: str, text: str) -> None:
    """Write a module of a package."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


@pytest.mark.parametrize(
    ("name", "one", "other", "found"),
    [
        ("Turn", "a.py", "b.py", True),
        ("_Turn", "a.py", "b.py", False),
        ("Turn", "surfaces/x/wire.py", "surfaces/y/wire/turns.py", True),
    ],
)
def test_a_second_class_of_a_name_is_found(
    name: str, one: str, other: str, found: bool, tmp_path: Path
) -> None:
    write(tmp_path, one, f"class {name}: ...")
    write(tmp_path, other, f"class {name}: ...")
    assert bool(repeated(tmp_path)) is found


def test_an_alias_with_the_name_of_a_class_is_found(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "class Turn: ...")
    write(tmp_path, "b.py", "Turn: TypeAlias = int")
    assert set(repeated(tmp_path)) == {"Turn"}
