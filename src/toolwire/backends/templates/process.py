"""Renders chat templates in a separate process (`worker`): see ADR 9."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolwire.backends.limited_process import LimitedProcess, ProcessFailed, ProcessTooSlow

_WORKER = Path(__file__).with_name("worker.py")
_DEADLINE = 10.0


class TemplateFailed(Exception):
    """The template cannot be used. The message says why."""


class TemplateRefused(TemplateFailed):
    """The template itself rejects this conversation. The message is the template's."""


class TemplateProcess:
    """Renders one template, one conversation at a time. Must be closed."""

    def __init__(self, source: str, *, deadline: float = _DEADLINE) -> None:
        greeting = msgspec.json.encode({"template": source})
        program = [os.fspath(_WORKER)]
        self._deadline = deadline
        self._process = LimitedProcess(program, deadline=deadline, greeting=greeting)

    async def render(self, values: Mapping[str, Any]) -> str:
        """Render the prompt of a conversation. Raises `TemplateFailed`."""
        try:
            answer = await self._process.ask(msgspec.json.encode(values))
        except ProcessTooSlow:
            raise TemplateFailed(f"it was not rendered within {self._deadline:g} s") from None
        except ProcessFailed as error:
            raise TemplateFailed(str(error)) from None
        if "prompt" in answer:
            return str(answer["prompt"])
        raise (TemplateRefused if answer["refused"] else TemplateFailed)(answer["error"])

    def close(self) -> None:
        """End the process."""
        self._process.close()
