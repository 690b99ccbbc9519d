"""`python -m tests.unit.conformance.wire`: write the systematic cases of every format anew."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.unit.conformance.wire.systematic import WIRES, systematic_cases

CASES = Path(__file__).parents[4] / "src" / "toolwire" / "conformance" / "cases"


def main() -> None:
    """Replace the systematic cases of every file, and keep the others."""
    for wire in WIRES:
        path = CASES / f"{wire.format}.json"
        written = systematic_cases(wire)
        names = {case["name"] for case in written}
        kept = [case for case in _read(path) if case["name"] not in names]
        path.write_text(file_text(wire.format, [*written, *kept]), encoding="utf-8")
    sys.stdout.write(f"{len(WIRES)} files written\n")


def _read(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []


def file_text(format_name: str, cases: list[dict[str, Any]]) -> str:
    """A file of cases: a line per member, so that a change can be seen."""
    body = ",\n".join(_case_text(case) for case in cases)
    return f'{{\n"format": {_json(format_name)},\n"cases": [\n{body}\n]\n}}\n'


def _case_text(case: dict[str, Any]) -> str:
    members = ",\n".join(f"    {_json(key)}: {_json(value)}" for key, value in case.items())
    return f"  {{\n{members}\n  }}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
