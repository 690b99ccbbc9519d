"""Decodes the request's `tools` array into a checked `ToolSet`.

Backends get a fresh encoding of the checked tools, so they never see a duplicate key, or a schema
that they could interpret differently.
"""

from functools import partial

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError, ToolSchemaError
from toolwire.protocol.schemas.check import CheckedSchema, SchemaLimits
from toolwire.protocol.tool_cache import ToolCache, ToolSetDraft, safe_name
from toolwire.protocol.tools import ToolSet, ToolSpec
from toolwire.surfaces.explain import check_length, check_name, check_nesting, decode
from toolwire.surfaces.openai.wire import CustomTool, FunctionSpec, FunctionTool

_Tools = msgspec.json.Decoder(list[FunctionTool | CustomTool])


class ToolReader:
    """Reads `tools`, with a cache."""

    def __init__(
        self, *, max_tools: int, cache_bytes: int, schema_limits: SchemaLimits | None = None
    ) -> None:
        self._max_tools = max_tools
        self.cache = ToolCache(cache_bytes, schema_limits)

    @property
    def max_depth(self) -> int:
        """Maximum nesting of the JSON."""
        return self.cache.limits.depth

    def read(self, raw: Raw, *, lenient_names: bool = False) -> ToolSet:
        """Decode and check a JSON array of tools. Raises `RequestError` with the location."""
        kind = ("openai", lenient_names)
        return self.cache.toolset(raw, kind, partial(self._check, lenient_names=lenient_names))

    def _check(self, raw: Raw, *, lenient_names: bool) -> ToolSetDraft:
        wire = decode(_Tools, raw, "tools")
        check_length("tools", len(wire), self._max_tools)
        draft = ToolSetDraft()
        for position, item in enumerate(wire):
            if isinstance(item, FunctionTool):
                spec, where = item.function, f"tools[{position}].function"
                name = _name(draft, spec.name, where, lenient=lenient_names)
                checked = self._schema(spec, name, where, draft.budget)
                tool = ToolSpec(name, spec.description, checked.schema, bool(spec.strict))
                draft.add(tool, checked, original=spec.name)
            else:
                custom, where = item.custom, f"tools[{position}].custom"
                name = _name(draft, custom.name, where, lenient=lenient_names)
                format_json = msgspec.json.encode(custom.format)
                check_nesting(format_json, f"{where}.format", self.max_depth)
                tool = ToolSpec(name, custom.description, custom.format or {}, kind="custom")
                draft.add(tool, original=custom.name)
        return draft

    def _schema(self, spec: FunctionSpec, name: str, where: str, budget: int) -> CheckedSchema:
        parameters = spec.parameters or {}
        try:
            return self.cache.schema(parameters, name, strict=bool(spec.strict), budget=budget)
        except ToolSchemaError as error:
            error.param = f"{where}.parameters"
            raise


def _name(draft: ToolSetDraft, original: str, where: str, *, lenient: bool) -> str:
    """Return the name of the next tool: checked, unique and safe for backends."""
    name = safe_name(original) if lenient and original else original
    check_name(name, f"{where}.name")
    if name in draft.tools:
        raise RequestError(
            f"Invalid '{where}.name': the name '{name}' is used twice. "
            "Give every tool a name of its own.",
            param=f"{where}.name",
            code="invalid_value",
        )
    return name
