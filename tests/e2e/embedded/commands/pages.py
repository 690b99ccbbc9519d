"""The commands that the pages show: every block that says it is `sh`, command by command."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[4]
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
_FENCE = re.compile(r"^ *(`{3,})([^`]*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code, and what its first line says that it is."""

    page: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command, the variables that its block exports before it, and the page's `curl`s so far."""

    page: str
    text: str
    exports: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page}: {self.text.splitlines()[0][:60]}"


def blocks() -> Iterator[Block]:
    """Every block of every page."""
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        fence, language, text = "", "", []
        for line in page.read_text(encoding="utf-8").splitlines():
            found = _FENCE.match(line)
            if found is not None and not fence:
                fence, language, text = found[1], found[2].strip(), []
            elif found is not None and len(found[1]) >= len(fence) and not found[2]:
                yield Block(name, language, "\n".join(text))
                fence = ""
            else:
                text.append(line)
        assert not fence, f"{name}: a block has no end"


def commands() -> list[Command]:
    """Every command once, with the first page that shows it."""
    found: dict[str, Command] = {}
    curls: dict[str, tuple[str, ...]] = {}
    for block in blocks():
        if block.language != "sh":
            continue
        exports: tuple[str, ...] = ()
        for text in _split(block.text):
            before = curls.get(block.page, ())
            if text.startswith("export "):
                exports = (*exports, text)
            else:
                key = " ".join(shlex.split(text, comments=True))
                found.setdefault(key, Command(block.page, text, exports, before))
            if text.startswith("curl "):
                curls[block.page] = (*before, text)
    return list(found.values())


def inline() -> list[str]:
    """The commands of ours that are within a sentence or a table."""
    texts = [
        re.sub(r"^ *(`{3,}).*?^ *\1", "", page.read_text("utf-8"), flags=re.S | re.M)
        for page in PAGES
    ]
    spans = {span for text in texts for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)}
    return sorted(span for span in spans if re.match(r"(make|pip|pipx|uv|toolwire) [a-z]", span))


def _split(block: str) -> Iterator[str]:
    """The commands of a block: a quoted string may go over several lines."""
    text = ""
    for line in block.splitlines():
        text = f"{text}\n{line}" if text else line.strip()
        if _is_whole(text):
            if shlex.split(text, comments=True):
                yield text
            text = ""
    assert not text, f"a quote is not closed: {text}"


def _is_whole(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return not text.endswith("\\")
