"""What is installed: little, pinned by hashes, and nothing that runs by itself (R11)."""

import re
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
MOST_DEPENDENCIES = 12
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==[^\s;]+")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}(?![0-9a-f])")


def requirements(path: Path) -> Iterator[str]:
    """The requirements of a lock file, each with its hashes on one line."""
    lines = path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return (line for line in lines if line.strip() and not line.lstrip().startswith("#"))


def pinned(path: Path) -> set[str]:
    return {found["name"] for line in requirements(path) if (found := _PIN.match(line))}


def declared(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = (line for extra in extras for line in project["optional-dependencies"][extra])
    return {re.split(r"[<>=!~;\[ ]", line)[0] for line in (*project["dependencies"], *optional)}


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_requirement_has_one_version_and_a_hash(path: Path) -> None:
    loose = [line for line in requirements(path) if not _PIN.match(line) or not _HASH.search(line)]
    assert loose == []
    assert pinned(path)


def test_a_user_gets_few_packages_with_toolwire() -> None:
    assert len(pinned(ROOT / "requirements" / "runtime.txt")) <= MOST_DEPENDENCIES


def test_what_is_declared_is_locked() -> None:
    assert declared() <= pinned(ROOT / "requirements" / "runtime.txt")
    assert declared("embedded") <= pinned(ROOT / "requirements" / "serve.txt")
    assert declared("embedded", "client", "mcp") <= pinned(ROOT / "requirements" / "dev.txt")


def test_serving_from_a_clone_takes_no_tools_of_development() -> None:
    """An editable install is built with hatchling, which brings what comes after `editables`."""
    built = {"editables", "hatchling", "packaging", "pathspec", "pluggy", "tomlkit"}
    runtime = pinned(ROOT / "requirements" / "runtime.txt")
    extra = pinned(ROOT / "requirements" / "serve.txt") - runtime - built
    assert extra == {"xllamacpp", "trove-classifiers"}


FIXED = {
    "certifi": "2024.7.4",  # CVE-2024-39689: a root that is trusted no more
    "h11": "0.16.0",  # CVE-2025-43859: chunked bodies that are read in two ways
    "idna": "3.7",  # CVE-2024-3651: time by the square
    "jinja2": "3.1.6",  # CVE-2025-27516, CVE-2024-56326: out of the sandbox
    "pygments": "2.15.0",  # CVE-2022-40896: a pattern that explodes
}
"""Packages that an advisory is known of, and the first version without it."""


def test_no_version_that_an_advisory_is_known_of_is_locked() -> None:
    for path in LOCKS:
        for line in requirements(path):
            found = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([0-9.]+)", line)
            assert found is not None, line
            fixed = FIXED.get(found[1].lower(), "0")
            assert _numbers(found[2]) >= _numbers(fixed), line


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.strip(".").split(".")]


def test_the_wheel_holds_the_package_and_nothing_that_runs_by_itself(tmp_path: Path) -> None:
    [path] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(path).namelist()
    assert "toolwire/py.typed" in names
    assert "toolwire/conformance/cases/hermes.json" in names
    assert "toolwire/inspector/static/index.html" in names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"toolwire", f"{Path(path).name.split('-py3')[0]}.dist-info"}
    assert {Path(name).suffix for name in names if name.startswith("toolwire/")} == {
        ".py",
        ".json",
        ".typed",
        *(".html", ".css", ".js", ".svg"),  # of the inspector
    }
