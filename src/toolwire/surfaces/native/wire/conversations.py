"""Stored conversations, as clients see them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw


class ConversationEntry(msgspec.Struct):
    """A conversation in a list."""

    id: str
    object: Literal["conversation"]
    created_at: Annotated[int, Meta(description="Seconds since 1970.")]
    updated_at: Annotated[int, Meta(description="When its last turn ended.")]
    bytes: Annotated[int, Meta(description="How much is stored of it.")]


class ConversationList(msgspec.Struct):
    """The caller's conversations, in the order of their ids."""

    object: Literal["list"]
    data: list[ConversationEntry]
    has_more: bool
    last_id: Annotated[str | None, Meta(description="Send it as `after` to get the next page.")] = (
        None
    )


class StoredConversation(msgspec.Struct):
    """A stored conversation."""

    id: str
    object: Literal["conversation"]
    created_at: int
    updated_at: int
    expires_at: Annotated[int, Meta(description="When it will be gone if nothing is added.")]
    model: str
    turns: int
    tools: Annotated[Raw, Meta(description="As they were sent.")]
    messages: Annotated[list[Raw], Meta(description="As they were sent and answered.")]


class DeletedConversation(msgspec.Struct):
    """The answer to a deletion."""

    id: str
    object: Literal["conversation"]
    deleted: bool
