"""What is wrong with a model's call. Surfaces decide what to do about it: one delivers the call
unchanged, another turns the same finding into an error."""

from typing import Literal, TypeAlias

import msgspec

FindingCode: TypeAlias = Literal[
    "unknown_tool_call",
    "malformed_tool_arguments",
    "invalid_tool_arguments",
    "unchecked_tool_arguments",
]


class Finding(msgspec.Struct, frozen=True):
    """Call `index` is invalid. `message` says why; it may quote the model."""

    code: FindingCode
    index: int
    tool: str
    message: str

    @property
    def label(self) -> str:
        """The finding without model text, except the tool's name."""
        return f"{self.code}:{self.tool}"
