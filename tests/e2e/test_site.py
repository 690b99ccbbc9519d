"""`make site`: the documentation builds without a warning, and needs neither a network nor a server
to be read and searched."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from tests.e2e.inspector.chromium import find_chromium

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


def found_from_disk(site: Path, start: str, words: str) -> list[str]:
    """The pages that the search finds, in a browser that was given a file."""
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=args)
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto((site / start).as_uri())
        page.click(".md-search__input")
        page.keyboard.type(words)
        page.wait_for_selector(".md-search-result__link", state="attached")
        links = page.locator(".md-search-result__link").evaluate_all("all => all.map(a => a.href)")
        browser.close()
    return [link.removeprefix(site.as_uri()).partition("?")[0] for link in links]


@pytest.mark.parametrize("start", ["index.html", "engines/vllm.html"])
def test_it_can_be_searched_from_the_disk(site: Path, start: str) -> None:
    found = found_from_disk(site, start, "constrained decoding")
    assert "/comparison.html" in {link.partition("#")[0] for link in found}


@pytest.mark.parametrize(
    ("typed", "formats"),
    [
        ("Qwen/Qwen3-8B", ["hermes"]),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", ["qwen3_coder"]),
        ("deepseek/deepseek-chat-v3.1", ["deepseek_v31"]),
        ("gpt_oss", ["openai"]),
        ("acme/unheard-of-7b", []),
    ],
)
def test_a_model_is_found_by_its_name(site: Path, typed: str, formats: list[str]) -> None:
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=args)
        page = browser.new_page()
        page.goto((site / "models.html").as_uri())
        page.get_by_label("Find your model").fill(typed)
        shown = page.locator("article tbody tr:visible td:nth-child(2)").all_inner_texts()
        assert [text.strip() for text in shown] == formats
        assert bool(page.get_by_text("No name in the table").count()) is not bool(formats)
        browser.close()


def test_no_code_of_a_page_has_the_escaping_of_a_table(site: Path) -> None:
    """Such as a command that cannot be copied."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    spans = re.compile(r"<td[^>]*>(?:(?!</td>).)*?<code>[^<]*\\\|", re.DOTALL)
    assert [name for name, text in texts.items() if spans.search(text)] == []
