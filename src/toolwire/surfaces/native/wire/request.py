"""The body of a request."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from toolwire.surfaces.native.wire.messages import MessageWire, ToolResult
from toolwire.surfaces.native.wire.tools import NamedChoice, ToolDefinition
from toolwire.surfaces.native.wire.values import LONGEST_WAIT, ConversationId


class ChatRequest(msgspec.Struct):
    """The body of `POST /native/v1/chat`.

    All parameters of OpenAI's Chat Completions are accepted beside these, except `n`.
    """

    model: Annotated[
        str,
        Meta(min_length=1, max_length=256,
             description="The model. A conversation remembers the last one."),
    ] = ""  # fmt: skip
    messages: Annotated[
        list[MessageWire],
        Meta(description="The whole history; in a conversation, what is new. It may be empty if "
             "there are `tool_results`."),
    ] = []  # fmt: skip
    tool_results: Annotated[
        list[ToolResult],
        Meta(description="Results of the calls that the last answer made, in any order: the same "
             "as messages with the role `tool`."),
    ] = []  # fmt: skip
    tools: Annotated[
        list[ToolDefinition],
        Meta(description="The tools that the model may call. A conversation remembers them; a "
             "list replaces them, and an empty one removes them."),
    ] = []  # fmt: skip
    tool_choice: Annotated[
        Literal["auto", "none", "required"] | NamedChoice,
        Meta(description="Whether the model may, must not or must call a tool, or which one it "
             "must call."),
    ] = "auto"  # fmt: skip
    parallel_tool_calls: Annotated[
        bool, Meta(description="Whether an answer may make more than one call.")
    ] = True
    stream: Annotated[bool, Meta(description="Whether to send the answer as it is written.")] = (
        False
    )
    conversation_id: ConversationId | None = None
    wait: Annotated[
        float,
        Meta(ge=0, le=LONGEST_WAIT,
             description="Seconds to wait for another turn of the same conversation to end, "
             "instead of a 409."),
    ] = 0.0  # fmt: skip
