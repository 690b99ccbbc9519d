"""`make site`: the documentation builds without a warning, and needs no network to be read."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]+src="(https?:)?//|<link[^>]+stylesheet[^>]+"https?:'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not (site / page.with_suffix(".html")).is_file()] == []


def test_nothing_is_loaded_from_a_network(site: Path) -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert [name for name, text in pages.items() if LOADED.search(text)] == []


def test_it_can_be_searched(site: Path) -> None:
    assert "prompted" in (site / "search" / "search_index.json").read_text(encoding="utf-8")
