"""Figures that tests measure for docs/hardening.md."""

import json
import os
from pathlib import Path

NOTES = "TOOLWIRE_FIGURES"


def note(figure: str) -> None:
    """Write down what was measured, if anybody wants to know: `make hard` does."""
    if path := os.environ.get(NOTES):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(figure) + "\n")


def noted(path: Path) -> list[str]:
    """What was written down, each figure once."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(json.loads(line) for line in lines))
