"""Converts `tools` and `tool_choice` to a checked `ToolSet` and a `ToolChoice`.

Tools that run on Anthropic's servers are omitted, because no client answers their calls. Tools that
the client runs, but whose schema is built into Claude, get a schema here.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError, ToolSchemaError
from toolwire.protocol.schemas.check import CheckedSchema, SchemaLimits
from toolwire.protocol.tool_cache import ToolCache, ToolSetDraft, safe_name
from toolwire.protocol.tools import FREE_CHOICE, NO_TOOLS, ToolChoice, ToolSet, ToolSpec
from toolwire.surfaces.messages.blocks import Block
from toolwire.surfaces.messages.conversation import ConversationBuilder
from toolwire.surfaces.messages.notes import Notes, Rule, invalid

_MAX_NAME = 128
LEFT_OUT = "tool_left_out:"
"""Begins the repair for a tool that the server would have to run."""
_SEARCH = "tool_search_tool_"


def _schema(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _string(about: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": about, **more}


_RANGE = {
    "type": "array",
    "items": {"type": "integer"},
    "description": "For view: the first and the last line, counted from 1; -1 is the end.",
}
_LINE = {
    "type": "integer",
    "description": "For insert: the line after which to insert; 0: before all.",
}


def _editor(*more: str, inserted: str) -> tuple[str, dict[str, Any]]:
    """Describe a version of the text editor: its commands differ, and the name of the text to
    insert."""
    commands = ["view", "create", "str_replace", "insert", *more]
    texts = {
        "new_str": "For str_replace: the text to put in its place.",
        "insert_text": "For insert: the text to insert.",
    }
    if inserted == "new_str":
        texts = {inserted: f"{texts['new_str']} {texts['insert_text']}"}
    return (
        "Views, creates and edits text files.",
        _schema(
            ["command", "path"],
            command=_string("What to do.", enum=commands),
            path=_string("The file, or for view also a directory."),
            file_text=_string("For create: the content of the file."),
            old_str=_string("For str_replace: the text to replace. It must be there exactly once."),
            insert_line=_LINE,
            **{name: _string(about) for name, about in texts.items()},
            view_range=_RANGE,
        ),
    )


CLIENT_TOOLS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "bash": (
        "Runs a command in a bash session that lasts over the whole conversation.",
        _schema(
            [],
            command=_string("The command to run. Required unless 'restart' is set."),
            restart={"type": "boolean", "description": "Start a new session instead."},
        ),
    ),
    "text_editor": _editor(inserted="insert_text"),
    "text_editor_20241022": _editor("undo_edit", inserted="new_str"),
    "text_editor_20250124": _editor("undo_edit", inserted="new_str"),
    "text_editor_20250429": _editor(inserted="new_str"),
    "memory": (
        "Reads and writes files below /memories, which last beyond this conversation.",
        _schema(
            ["command"],
            command=_string(
                "What to do.",
                enum=["view", "create", "str_replace", "insert", "delete", "rename"],
            ),
            path=_string("The file or directory, below /memories."),
            file_text=_string("For create: the content of the file."),
            old_str=_string("For str_replace: the text to replace. It must be there exactly once."),
            new_str=_string("For str_replace: the text to put in its place."),
            insert_line=_LINE,
            insert_text=_string("For insert: the text to insert."),
            old_path=_string("For rename: the path now."),
            new_path=_string("For rename: the new path."),
            view_range=_RANGE,
        ),
    ),
}
"""Tools that the client runs: description and schema. By their type without its date, except for
earlier versions that differ."""

TOOLS: Mapping[str, Rule] = {
    "custom (or no type)": Rule("honoured", "A function with `input_schema` as its parameters."),
    "strict": Rule(
        "honoured", "Calls must fit the schema, unless it is one that strict mode does not allow."
    ),
    "defer_loading": Rule(
        "honoured",
        "Not offered until a `tool_reference` or a `tool_addition` names it. With a "
        "`tool_search_tool_*`, which Anthropic would run, offered at once: nothing else finds it.",
    ),
    "bash_*, text_editor_*, memory_*": Rule(
        "translated", "The client runs them: they get a description and a schema."
    ),
    "other types": Rule(
        "ignored", "`web_search_*`, `code_execution_*`, ...: left out and reported."
    ),
    "cache_control, eager_input_streaming, input_examples, allowed_callers": Rule(
        "ignored", "They change nothing about what a call looks like."
    ),
}

_decode = msgspec.json.Decoder(list[dict[str, Any]]).decode


class MessagesToolReader:
    """Reads `tools`, with a cache."""

    def __init__(self, *, max_tools: int, cache_bytes: int, limits: SchemaLimits) -> None:
        self._max_tools = max_tools
        self._cache = ToolCache(cache_bytes, limits)

    def read(self, raw: Raw | None, conversation: ConversationBuilder) -> ToolSet:
        """Return the tools available at the end of a conversation. Raises `RequestError`."""
        if conversation.defined:
            raw = Raw(msgspec.json.encode([*_listed(raw), *conversation.defined]))
        if raw is None:
            return NO_TOOLS
        shown, removed = tuple(conversation.shown), frozenset(conversation.removed)
        read = partial(self._check, shown=shown, removed=removed)
        return self._cache.toolset(raw, ("messages", shown, removed), read)

    def _check(self, raw: Raw, *, shown: tuple[str, ...], removed: frozenset[str]) -> ToolSetDraft:
        wire = _listed(raw)
        if len(wire) > self._max_tools:
            raise invalid("tools", f"List should have at most {self._max_tools} items")
        draft = ToolSetDraft()
        named = [(_name(spec, f"tools.{at}"), f"tools.{at}", spec) for at, spec in enumerate(wire)]
        for name, where, spec in _offered(named, shown, removed):
            described = _described(spec, where)
            if described is None:
                draft.repairs.append(f"{LEFT_OUT}{spec.get('type')}")
            else:
                self._add(draft, name, described, bool(spec.get("strict")), where)
        return draft

    def _add(
        self,
        draft: ToolSetDraft,
        name: str,
        described: tuple[str | None, dict[str, Any]],
        strict: bool,  # noqa: FBT001
        where: str,
    ) -> None:
        safe, (description, schema) = safe_name(name), described
        if safe in draft.tools:
            raise invalid("tools", f"Tool names must be unique: '{name}' is used twice")
        checked = self._strict_schema(schema, safe, draft) if strict else None
        strict = checked is not None
        if checked is None:
            checked = self._schema(schema, safe, draft, where)
        draft.add(ToolSpec(safe, description, checked.schema, strict), checked, original=name)

    def _strict_schema(
        self, schema: dict[str, Any], name: str, draft: ToolSetDraft
    ) -> CheckedSchema | None:
        """Return None if no server can enforce the schema. The tool is then not strict."""
        try:
            return self._cache.schema(schema, name, strict=True, budget=draft.budget)
        except ToolSchemaError:
            draft.repairs.append(f"not_strict:{name}")
            return None

    def _schema(
        self, schema: dict[str, Any], name: str, draft: ToolSetDraft, where: str
    ) -> CheckedSchema:
        try:
            return self._cache.schema(schema, name, strict=False, budget=draft.budget)
        except ToolSchemaError as error:
            error.param = f"{where}.input_schema"
            raise


_Named: TypeAlias = tuple[str, str, Block]
"""A tool: its name, its location and its definition."""


def _offered(
    tools: list[_Named], shown: tuple[str, ...], removed: frozenset[str]
) -> Iterator[_Named]:
    """Yield tools that are not deferred, then loaded ones, in that order, so that loading a tool
    does not change the start of the prompt. If Anthropic would search for tools, all are loaded,
    because the search is left out."""
    deferred = {}
    searched = any(str(spec.get("type")).startswith(_SEARCH) for _, _, spec in tools)
    for tool in tools:
        if tool[2].get("defer_loading"):
            deferred[tool[0]] = tool
        elif tool[0] not in removed:
            yield tool
    loaded = deferred if searched else shown
    yield from (deferred[name] for name in loaded if name in deferred and name not in removed)


def _listed(raw: Raw | None) -> list[Block]:
    if raw is None:
        return []
    try:
        return _decode(raw)
    except msgspec.ValidationError:
        raise invalid("tools", "Input should be a valid list of tools") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid("tools", f"Not valid JSON: {error}") from None


def _name(spec: Block, where: str) -> str:
    name = spec.get("name")
    if isinstance(name, str) and 0 < len(name) <= _MAX_NAME:
        return name
    if name is None and not _is_custom(spec):
        return str(spec.get("type"))
    raise invalid(f"{where}.name", f"String should have 1 to {_MAX_NAME} characters")


def _is_custom(spec: Block) -> bool:
    return spec.get("type") in (None, "custom")


def _described(spec: Block, where: str) -> tuple[str | None, dict[str, Any]] | None:
    """Return the description and the schema of a tool; None if the client does not run it."""
    if _is_custom(spec):
        schema = spec.get("input_schema")
        if not isinstance(schema, dict):
            raise invalid(f"{where}.input_schema", "Field required")
        description = spec.get("description")
        schema = schema if "type" in schema or not schema else {"type": "object", **schema}
        return (description if isinstance(description, str) else None), schema
    kind = str(spec.get("type"))
    return CLIENT_TOOLS.get(kind) or CLIENT_TOOLS.get(kind.rpartition("_")[0])


def read_choice(raw: Raw | None, tools: ToolSet, notes: Notes) -> tuple[ToolChoice, bool]:
    """Decode `tool_choice`, and whether parallel calls are allowed. Raises `RequestError`."""
    if raw is None:
        return FREE_CHOICE, True
    value = _choice_object(raw)
    parallel = not value.get("disable_parallel_tool_use")
    kind = value.get("type")
    if kind not in ("auto", "any", "tool", "none"):
        raise invalid("tool_choice.type", "Input should be 'auto', 'any', 'tool' or 'none'")
    if (kind == "any" and not tools.tools) or (kind == "tool" and _is_left_out(value, tools)):
        notes.ignore("tool_choice")
        return FREE_CHOICE, parallel
    if kind == "tool":
        return ToolChoice("required", frozenset({_known(value, tools)}), named=True), parallel
    return {"auto": FREE_CHOICE, "any": ToolChoice("required"), "none": ToolChoice("none")}[
        kind
    ], parallel


def _choice_object(raw: Raw) -> Block:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise invalid("tool_choice", "Input should be an object with a 'type'")
    return value


def _is_left_out(value: Block, tools: ToolSet) -> bool:
    """Whether the choice names a tool that Anthropic would run: `web_search` of the type
    `web_search_20250305`."""
    name = f"{LEFT_OUT}{value.get('name')}_"
    return any(repair.startswith(name) for repair in tools.repairs)


def _known(value: Block, tools: ToolSet) -> str:
    name = value.get("name")
    if not isinstance(name, str):
        raise invalid("tool_choice.name", "Field required")
    if safe_name(name or "_") not in tools.tools:
        raise RequestError(
            f"tool_choice.name: Tool '{name[:100]}' not found in provided tools",
            param="tool_choice.name",
        )
    return safe_name(name)
