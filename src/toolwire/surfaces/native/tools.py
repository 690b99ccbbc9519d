"""Decodes `tools`: stricter than OpenAI's, and reports all problems at once."""

from typing import Any

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError
from toolwire.protocol.schemas.check import CheckedSchema
from toolwire.protocol.tool_cache import ToolCache, ToolSetDraft
from toolwire.protocol.tools import ToolSet, ToolSpec
from toolwire.surfaces.native.fields import read_value
from toolwire.surfaces.native.problems import Problems

_KIND = "native"
_ROOT = "object"


class NativeToolReader:
    """Reads `tools`, with a cache. It may be shared with other surfaces."""

    def __init__(self, cache: ToolCache, max_tools: int) -> None:
        self.cache = cache
        self._max_tools = max_tools

    def read(self, raw: Raw) -> ToolSet:
        """Decode and check a list of definitions. Raises `InvalidRequest` with all problems."""
        return self.cache.toolset(raw, _KIND, self._checked)

    def _checked(self, raw: Raw) -> ToolSetDraft:
        problems = Problems()
        read_value("tools", raw, problems)
        tools = msgspec.json.decode(raw)
        if isinstance(tools, list) and len(tools) > self._max_tools:
            text = f"Invalid 'tools': {len(tools)} tools; at most {self._max_tools} are allowed."
            problems.add("tools", text, "array_above_max_length")
            problems.check()
        draft = ToolSetDraft()
        for position, tool in enumerate(tools if isinstance(tools, list) else ()):
            spec = tool.get("function") if isinstance(tool, dict) else None
            if isinstance(spec, dict):
                self._add(draft, spec, f"tools[{position}].function", problems)
        problems.check()
        return draft

    def _add(
        self, draft: ToolSetDraft, spec: dict[str, Any], where: str, problems: Problems
    ) -> None:
        """Check rules that types cannot express."""
        name, parameters = spec.get("name"), spec.get("parameters")
        if not isinstance(name, str) or not isinstance(parameters, dict):
            return
        if name.endswith("\n"):  # which a pattern does not see
            problems.add(f"{where}.name", f"Invalid '{where}.name': it ends in a line break.")
        if name in draft.tools:
            text = f"Invalid '{where}.name': the name '{name[:100]}' is used twice."
            problems.add(f"{where}.name", text)
        checked = self._schema(name, parameters, draft, f"{where}.parameters", problems)
        if checked is not None:
            draft.add(ToolSpec(name, spec.get("description"), checked.schema), checked)
        if spec.get("strict") is not None:
            draft.repairs.append(f"strict_ignored:{name}")

    def _schema(
        self,
        name: str,
        parameters: dict[str, Any],
        draft: ToolSetDraft,
        where: str,
        problems: Problems,
    ) -> CheckedSchema | None:
        if parameters.get("type") != _ROOT:
            text = f"Invalid '{where}': its root must have 'type': 'object'."
            problems.add(where, text, "invalid_function_parameters")
            return None
        try:
            checked = self.cache.schema(parameters, name, strict=False, budget=draft.budget)
        except RequestError as error:
            error.param = where
            problems.take([error])
            return None
        for repair in checked.repairs:
            text = f"Invalid '{where}': a part of it cannot be checked ({repair})."
            problems.add(where, text, "invalid_function_parameters")
        return checked
