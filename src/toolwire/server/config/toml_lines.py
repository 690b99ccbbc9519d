"""Finds the line of every key in a TOML text, which `tomllib` does not provide.

Only for texts that `tomllib` has accepted: it follows brackets, quotes and keys, and checks
nothing. Used only to report an error.
"""

import re
import tomllib
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[\s,]|#[^\n]*)*")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN_VALUE = re.compile(r"[^,\]}\n#]+")


def find_line(text: str, path: Path) -> int | None:
    """Return the line (from 1) of the key at `path`, or of the nearest enclosing table."""
    lines = _Walk(text).lines
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


class _Walk:
    """One pass over the text; fills `lines`."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._text = text
        self._at = 0
        self._line = 1
        self._counted = 0
        self._tables: dict[Path, int] = {}  # the number of [[x]] so far, by path
        self._document()

    def _document(self) -> None:
        table: Path = ()
        while self._skip_space():
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        double = self._text.startswith("[[", self._at)
        self._at += 2 if double else 1
        self._skip_space()
        *above, last = self._key()
        table = (*self._resolve(above), last)
        if double:
            number = self._tables.get(table, 0)
            self._tables[table] = number + 1
            self.lines.setdefault(table, self._here())
            table += (number,)
        self.lines[table] = self._here()
        self._skip_space()
        self._at += 2 if double else 1
        return table

    def _resolve(self, keys: list[str]) -> Path:
        """Return the path of `keys`, through the last table of each array of tables."""
        path: Path = ()
        for key in keys:
            path += (key,)
            self.lines.setdefault(path, self._here())
            if path in self._tables:
                path += (self._tables[path] - 1,)
        return path

    def _pair(self, table: Path) -> None:
        for key in self._key():
            table += (key,)
            self.lines.setdefault(table, self._here())
        self._skip_space()
        self._at += 1  # the equals sign
        self._skip_space()
        self._value(table)

    def _value(self, path: Path) -> None:
        opening = self._peek()
        if opening == "{":
            self._inside("}", path)
        elif opening == "[":
            self._inside("]", path)
        else:
            match = _STRING.match(self._text, self._at) or _PLAIN_VALUE.match(self._text, self._at)
            self._at = match.end() if match else len(self._text)

    def _inside(self, closing: str, path: Path) -> None:
        self._at += 1
        number = 0
        while self._skip_space() and self._peek() != closing:
            if closing == "}":
                self._pair(path)
            else:
                self.lines[(*path, number)] = self._here()
                self._value((*path, number))
                number += 1
        self._at += 1

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            match = _BARE_KEY.match(self._text, self._at) or _STRING.match(self._text, self._at)
            if match is None:
                return parts or [""]
            self._at = match.end()
            parts.append(_plain(match.group()))
            dot = _DOT.match(self._text, self._at)
            if dot is None:
                return parts
            self._at = dot.end()

    def _skip_space(self) -> bool:
        """Skip white space and comments. Return False at the end of the text."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at < len(self._text)

    def _peek(self) -> str:
        return self._text[self._at]

    def _here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line


def _plain(key: str) -> str:
    if key[0] not in "\"'":
        return key
    return next(iter(tomllib.loads(f"{key} = 0")))
