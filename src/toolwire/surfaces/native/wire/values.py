"""The values that several objects of the wire have in common."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

NAME = "^[a-zA-Z0-9_]{1,64}$"
CONVERSATION_ID = "^[a-zA-Z0-9][a-zA-Z0-9._~-]{0,127}$"
NEW = "new"
"""Pass this as `conversation_id` to start a conversation with a generated id."""
LONGEST_WAIT = 60.0
LONGEST_ID = 256
ToolName: TypeAlias = Annotated[
    str, Meta(pattern=NAME, description="The tool's name: letters, digits and underscores.")
]
CallId: TypeAlias = Annotated[
    str,
    Meta(min_length=1, max_length=LONGEST_ID, description="The id of a call, as it was given."),
]
ConversationId: TypeAlias = Annotated[
    str,
    Meta(
        pattern=CONVERSATION_ID,
        description="The conversation to continue, or to begin if there is none of this id. "
        "`new` begins one under an id of the server's choice.",
    ),
]
FinishReason: TypeAlias = Annotated[
    Literal["stop", "length", "tool_calls", "content_filter"],
    Meta(
        description="Why the model stopped: `tool_calls` if it made calls, `length` if it reached "
        "the token limit."
    ),
]
