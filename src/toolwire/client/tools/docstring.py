"""Parses a docstring into a description of the function and of each parameter.

Supports the styles of Google, NumPy and Sphinx. Text outside sections (parameters, returns, raises,
examples) is part of the description.
"""

import inspect
import re
from dataclasses import dataclass, field

_PARAMETERS = frozenset(
    {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments",
     "other parameters", "attributes"}
)  # fmt: skip
_OTHER = frozenset(
    {"returns", "return", "yields", "yield", "raises", "raise", "warns", "examples", "example",
     "notes", "note", "see also", "references", "todo", "warnings", "warning", "methods"}
)  # fmt: skip
_SPHINX = re.compile(r"^:(?P<field>[a-z]+)(?:\s+(?P<rest>[^:]*))?:\s*(?P<text>.*)$")
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ITEM = re.compile(r"^\*{0,2}(?P<names>\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "var",
                                "ivar"})  # fmt: skip


@dataclass
class Docstring:
    """A parsed docstring."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """Parse a docstring in any of the three styles."""
    reader = _Reader(inspect.cleandoc(text or "").splitlines())
    return reader.read()


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._told: list[str] = []
        self._parameters: dict[str, list[str]] = {}

    def read(self) -> Docstring:
        while self._at < len(self._lines):
            self._step()
        found = {name: _joined(lines) for name, lines in self._parameters.items()}
        return Docstring(_paragraphs(self._told), {name: t for name, t in found.items() if t})

    def _step(self) -> None:
        line = self._lines[self._at]
        if (section := self._numpy_section()) is not None:
            self._at += 2
            self._numpy_body(wanted=section in _PARAMETERS)
        elif (section := _google_section(line)) and self._next_is_indented():
            self._at += 1
            self._google_body(wanted=section in _PARAMETERS)
        elif found := _SPHINX.match(line):
            self._at += 1
            self._sphinx_field(found)
        else:
            self._told.append(line)
            self._at += 1

    def _numpy_section(self) -> str | None:
        name = self._lines[self._at].strip().lower()
        rule = self._lines[self._at + 1].strip() if self._at + 1 < len(self._lines) else ""
        is_rule = len(rule) >= 3 and set(rule) == {"-"}
        return name if is_rule and name in _PARAMETERS | _OTHER else None

    def _numpy_body(self, *, wanted: bool) -> None:
        names: list[str] = []
        while self._at < len(self._lines) and self._numpy_section() is None:
            line = self._lines[self._at]
            self._at += 1
            if line and not line[0].isspace():
                item = _NUMPY_ITEM.match(line)
                names = re.findall(r"\w+", item["names"]) if item and wanted else []
            for name in names:
                told = line if line[:1].isspace() else ""
                self._parameters.setdefault(name, []).append(told)

    def _google_body(self, *, wanted: bool) -> None:
        name, depth = "", 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            indent = len(line) - len(line.lstrip())
            if line.strip() and indent == 0:
                return
            self._at += 1
            item = _GOOGLE_ITEM.match(line.strip())
            if wanted and item and (not name or indent <= depth):
                name, depth = item["name"], indent
                self._parameters[name] = [item["text"]]
            elif wanted and name:
                self._parameters[name].append(line)

    def _sphinx_field(self, found: "re.Match[str]") -> None:
        told = [found["text"]]
        while self._at < len(self._lines) and self._lines[self._at][:1].isspace():
            told.append(self._lines[self._at])
            self._at += 1
        words = (found["rest"] or "").split()
        if found["field"] in _SPHINX_PARAMETERS and words:
            self._parameters[words[-1].lstrip("*")] = told

    def _next_is_indented(self) -> bool:
        rest = (line for line in self._lines[self._at + 1 :] if line.strip())
        return next(rest, "")[:1].isspace()


def _google_section(line: str) -> str | None:
    name = line.removesuffix(":").strip().lower() if line.endswith(":") else ""
    return name if not line[:1].isspace() and name in _PARAMETERS | _OTHER else None


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def _paragraphs(lines: list[str]) -> str:
    """Join the lines of each paragraph, and keep lists and paragraphs separate."""
    text = "\n".join(line.rstrip() for line in lines).strip()
    text = re.sub(r"\n{3,}", "\n\n", text)
    return re.sub(r"(?<=\S)\n(?=[^\s\-*\d])", " ", text)
