"""What a model says in one turn, as a value. It knows nothing of chunks, bytes or HTTP."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Usage:
    """Token figures; made up, but always the same for the same request."""

    prompt: int
    completion: int

    def to_json(self) -> dict[str, int]:
        """Give the figures OpenAI's names."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
        }


@dataclass(frozen=True)
class Call:
    """One tool call. `args` is the value to send; a string is sent as it is, broken or not."""

    name: str
    args: Any
    id: str | None = None

    @property
    def arguments(self) -> str:
        """The JSON text of the arguments."""
        return self.args if isinstance(self.args, str) else json.dumps(self.args)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read `[name, args]`, `[name, args, id]` or an object with these keys."""
        if isinstance(value, Mapping):
            return cls(value["name"], value.get("args", {}), value.get("id"))
        return cls(*value)


@dataclass(frozen=True)
class Answer:
    """One assistant turn: any of text, reasoning and calls. `finish` None means the usual one."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    usage: Usage | None = None

    @property
    def finish_reason(self) -> str:
        """The finish reason, the usual one unless the script chose another."""
        return self.finish or ("tool_calls" if self.calls else "stop")

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read one entry of a `turns` script; a bare string is a text."""
        if isinstance(value, str):
            return cls(text=value)
        usage = value.get("usage")
        return cls(
            text=value.get("text", ""),
            reasoning=value.get("reasoning", ""),
            calls=tuple(Call.from_json(call) for call in value.get("calls", ())),
            finish=value.get("finish"),
            usage=Usage(*usage) if usage else None,
        )
