"""Reads the tools a client offers: which of them writes, reads or runs, and how to fill them.

Clients name the same thing differently (`path`, `filePath`, `absolutePath`), so what a parameter
means is looked up by its name, and everything else comes from the schema.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]
Hints = Mapping[str, Any]

MEANINGS: dict[str, tuple[str, ...]] = {
    "path": ("path", "file", "filepath", "filename", "absolutepath", "targetfile", "relpath"),
    "content": ("content", "text", "filetext", "filecontent", "newtext", "body"),
    "command": ("command", "cmd", "shellcommand"),
    "patch": ("patch", "input"),
    "result": ("result", "summary", "answer", "response", "message"),
}
DRASTIC = re.compile(r"(?i)exit|clean|clear|cancel|shutdown|delete")
MEANING_OF = {name: meaning for meaning, names in MEANINGS.items() for name in names}


@dataclass(frozen=True)
class Role:
    """A part a tool can play: words its name may hold, best first, and what it must take."""

    words: tuple[str, ...]
    needs: frozenset[str]
    modes: tuple[str, ...] = ()
    """Values to prefer where a parameter of the tool is a choice, such as `create`."""


ROLES = {
    "write": Role(
        ("write", "create", "save", "editor"), frozenset({"path", "content"}), ("write", "create")
    ),
    "read": Role(("read", "view", "editor"), frozenset({"path"}), ("view", "read")),
    "run": Role(("bash", "shell", "execute", "run", "command", "terminal"), frozenset({"command"})),
    "patch": Role(("apply_patch",), frozenset({"patch"})),
    "finish": Role(("attempt_completion", "submit_and_exit", "final_result"), frozenset()),
}


def find_tool(tools: list[Schema], role: Role) -> Schema | None:
    """Choose the tool that plays a role best: by the role's first word, then the shortest name."""
    for word in role.words:
        named = [tool for tool in tools if word in str(tool.get("name", "")).lower()]
        fitting = [tool for tool in named if role.needs <= meanings(tool.get("parameters") or {})]
        if fitting:
            return min(fitting, key=lambda tool: len(tool["name"]))
    return None


def find_bare_tool(tools: list[Schema]) -> Schema | None:
    """Choose a tool that can be called without arguments and without doing much."""
    bare = (tool for tool in tools if not (tool.get("parameters") or {}).get("required"))
    return next((tool for tool in bare if not DRASTIC.search(tool["name"])), None)


def meanings(schema: Schema) -> set[str]:
    """Tell what a schema's parameters, at any depth, stand for."""
    return {
        MEANING_OF[name] for name in map(_plain, _free_names(schema, schema)) if name in MEANING_OF
    }


def fill_tool(tool: Schema, hints: Hints, modes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Make arguments that fit a tool."""
    schema = tool.get("parameters") or {"type": "object"}
    return _Filler(schema, hints, modes).fill_object(schema)


def fill_schema(schema: Schema, hints: Hints) -> Any:
    """Make a value that fits a schema."""
    return _Filler(schema, hints, ()).fill(schema, "")


@dataclass(frozen=True)
class _Filler:
    root: Schema
    hints: Hints
    modes: tuple[str, ...]

    def fill(self, given: Schema, name: str) -> Any:
        schema = _resolved(given, self.root)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return next((mode for mode in self.modes if mode in schema["enum"]), schema["enum"][0])
        if _is_nullable(schema) and not self._is_hinted(schema, name):
            return None
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            return self.fill(_best(branches), name)
        return self._fill_type(_type_of(schema), schema, name)

    def fill_object(self, schema: Schema) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        wanted = schema.get("required") or []
        return {
            name: self.fill(inner, name)
            for name, inner in properties.items()
            if name in wanted or self._is_hinted(inner, name)
        }

    def _fill_type(self, kind: str, schema: Schema, name: str) -> Any:
        match kind:
            case "object":
                return self.fill_object(schema)
            case "array":
                return [self.fill(schema.get("items") or {}, name)]
            case "boolean":
                return False
            case "integer" | "number":
                return self.hints.get("*", schema.get("minimum", 1))
            case _:
                return str(self._hint(name) or self.hints.get("*", name or "text"))

    def _hint(self, name: str) -> Any:
        return self.hints.get(MEANING_OF.get(_plain(name), ""))

    def _is_hinted(self, schema: Schema, name: str) -> bool:
        if self._hint(name) is not None and "enum" not in schema:
            return True
        return any(self._hint(inner) is not None for inner in _free_names(schema, self.root))


def _free_names(given: Schema, root: Schema, depth: int = 6) -> Iterator[str]:
    """The names of all parameters that are not a choice from a list, at any depth."""
    schema = _resolved(given, root)
    for name, inner in (schema.get("properties") or {}).items():
        if "enum" not in inner:
            yield name
        if depth:
            yield from _free_names(inner, root, depth - 1)
    branches = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ()), schema.get("items")]
    for inner in branches:
        if depth and isinstance(inner, dict):
            yield from _free_names(inner, root, depth - 1)


def _resolved(schema: Schema, root: Schema) -> Schema:
    for _ in range(8):
        if "$ref" not in schema:
            break
        target: Any = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target.get(key, {})
        schema = target
    return schema


def _best(branches: list[Schema]) -> Schema:
    return next((branch for branch in branches if branch.get("type") != "null"), {})


def _is_nullable(schema: Schema) -> bool:
    types = [branch.get("type") for branch in schema.get("anyOf") or schema.get("oneOf") or ()]
    return "null" in types or "null" in (_list_type(schema))


def _list_type(schema: Schema) -> list[str]:
    kind = schema.get("type")
    return kind if isinstance(kind, list) else []


def _type_of(schema: Schema) -> str:
    kinds = [kind for kind in _list_type(schema) if kind != "null"]
    if kinds:
        return kinds[0]
    return str(schema.get("type") or ("object" if "properties" in schema else "string"))


def _plain(name: str) -> str:
    """`file_path`, `filePath` and `file-paths` are one name."""
    return re.sub(r"[^a-z]", "", name.lower()).removesuffix("s")
