"""Prints every regular expression the package makes, as JSON lines. Run as a program.

`re.compile` is watched from before the first import on, while every module is imported and every
format reads and writes something, so that patterns made of data are seen too. A lexer makes one
of its patterns when it first needs it; here it needs it at once.
"""

import importlib
import json
import pkgutil
import re
import sys
from typing import Any

_compile = re.compile
_functions = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
seen: dict[tuple[str, str, int], None] = {}


def _note(module: str, pattern: Any, flags: int) -> None:
    if module.startswith("toolwire") and not isinstance(pattern, re.Pattern):
        text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
        seen[module, text, int(flags)] = None


def _watch(name: str) -> None:
    original = getattr(re, name)

    def watched(pattern: Any, *args: Any, **options: Any) -> Any:
        flags = options.get("flags", args[0] if name == "compile" and args else 0)
        _note(sys._getframe(1).f_globals.get("__name__", ""), pattern, flags)
        return original(pattern, *args, **options)

    setattr(re, name, watched)


def _watch_lexers() -> None:
    from toolwire.formats.lexer import Lexer

    begin = Lexer.__init__

    def begun(self: Lexer, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self._complete()

    Lexer.__init__ = begun  # type: ignore[method-assign]


def _use_every_format() -> None:
    from cases import all_cases, parse

    from toolwire.formats import get, names
    from toolwire.formats.rendering.escape_calls import unspell, unspell_strings
    from toolwire.formats.rendering.escape_markers import neutralize

    for name in names():
        neutralize(get(name), "<x>")
        unspell(get(name), ["x"], ["x"])
        unspell_strings(get(name), "x", ["x"])
    for case in all_cases():
        parse(case.parser(), [case.text])


def main() -> None:
    for name in ("compile", *_functions):
        _watch(name)
    _watch_lexers()
    package = importlib.import_module("toolwire")
    for module in pkgutil.walk_packages(package.__path__, "toolwire."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    _use_every_format()
    for entry in seen:
        sys.stdout.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main()
