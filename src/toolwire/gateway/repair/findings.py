"""What is wrong with a call the model made. What is done about it is for others to say: one
surface delivers the call as it is, another turns the same finding into an error."""

from typing import Literal, TypeAlias

import msgspec

FindingCode: TypeAlias = Literal[
    "unknown_tool_call",
    "malformed_tool_arguments",
    "invalid_tool_arguments",
    "unchecked_tool_arguments",
]


class Finding(msgspec.Struct, frozen=True):
    """Call `index` does not fit. `message` says why; it may repeat what the model wrote."""

    code: FindingCode
    index: int
    tool: str
    message: str

    @property
    def label(self) -> str:
        """The finding without anything the model wrote but the tool's name."""
        return f"{self.code}:{self.tool}"
