"""The page's files: all of them are served, and none of them lets a script in."""

import re
from pathlib import Path

from toolwire.inspector import page

STATIC = Path(page.__file__).parent / "static"
HTML = (STATIC / "index.html").read_text()


def test_every_file_is_served_with_its_kind() -> None:
    served = page.static_files()
    assert set(served) == {
        "/inspector" if path.name == "index.html" else f"/inspector/{path.name}"
        for path in STATIC.iterdir()
    }
    assert served["/inspector/app.js"].kind.startswith("text/javascript")


def test_everything_the_page_asks_for_is_among_its_files() -> None:
    links = re.findall(r'(?:src|href)="(inspector/[^"]+)"', HTML)
    code = {path.name: path.read_text() for path in STATIC.glob("*.js")}
    imports = {f"inspector/{name}" for text in code.values() for name in _imported(text)}
    served = page.static_files()
    assert len(imports) >= 8
    assert [link for link in {*links, *imports} if f"/{link}" not in served] == []


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|javascript:", HTML) == []
    texts = [path.read_text() for path in STATIC.iterdir()]
    assert [url for text in texts for url in re.findall(r"https?://[^\s\"']+", text)] == [
        "http://www.w3.org/2000/svg"
    ]


def test_no_code_makes_html_of_text() -> None:
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|Function\("
    for path in STATIC.glob("*.js"):
        assert re.findall(ways, path.read_text()) == [], path.name


def test_the_policy_allows_no_inline_script_and_no_other_origin() -> None:
    rules = dict(rule.split(" ", 1) for rule in page.POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in page.POLICY


def _imported(text: str) -> list[str]:
    return re.findall(r'from "\./([\w.]+)"', text)
