"""The description of Anthropic's Messages API: see `surfaces.operations`.

The request fields come from the table that the reader uses. Response objects are described only in
outline, because Anthropic defines them.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolwire.errors import GatewayError, ToolChoiceUnmet
from toolwire.surfaces.messages.answer import STOP_REASONS
from toolwire.surfaces.messages.conversation import WireMessage
from toolwire.surfaces.messages.errors import STATUSES
from toolwire.surfaces.messages.reader import FIELDS
from toolwire.surfaces.operations import OF_A_TURN, Api, Operation

_Object = dict[str, Any]
_TYPES: dict[str, Any] = {
    "model": Annotated[str, Meta(min_length=1, max_length=256)],
    "messages": Annotated[list[WireMessage], Meta(min_length=1)],
    "max_tokens": Annotated[int, Meta(ge=0)],
    "stream": bool,
    "stop_sequences": list[str],
    "temperature": float,
    "top_p": float,
    "tools": list[_Object],
}
_NEEDED = ("model", "messages", "max_tokens")


def _field(name: str) -> tuple[str, Any] | tuple[str, Any, None]:
    rule = FIELDS[name]
    about = Meta(description=f"{rule.treatment.capitalize()}. {rule.how}".strip())
    kind = _TYPES.get(name, Any)
    if name in _NEEDED:
        return name, Annotated[kind, about]
    return name, Annotated[kind | None if kind is not Any else Any, about], None


MessagesRequest = msgspec.defstruct(
    "MessagesRequest",
    [_field(name) for name in sorted(FIELDS, key=lambda n: n not in _NEEDED) if " " not in name],
    namespace={
        "__doc__": "A request for a message. Other fields are accepted, and named in the header "
        "`toolwire-ignored-params`."
    },
)
CountRequest = msgspec.defstruct(
    "CountRequest",
    [("model", str), ("messages", list[WireMessage]), ("tools", list[_Object] | None, None),
     ("system", Any, None)],
    namespace={"__doc__": "A request whose tokens are to be counted."},
)  # fmt: skip


class MessageUsage(msgspec.Struct):
    """The token usage of a turn. `input_tokens` excludes cached tokens."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class MessageObject(msgspec.Struct):
    """An answer."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: Annotated[
        list[_Object], Meta(description="Blocks: `text`, `thinking` and `tool_use`.")
    ]
    stop_reason: Annotated[
        str | None, Meta(description=f"{', '.join(STOP_REASONS.values())} or stop_sequence")
    ]
    stop_sequence: str | None
    usage: MessageUsage


class StreamEvent(msgspec.Struct):
    """An event of the stream; the rest depends on the type."""

    type: str


class TokenCount(msgspec.Struct):
    """The number of tokens in a request."""

    input_tokens: int


class ErrorObject(msgspec.Struct):
    """What was wrong, where, and what to do."""

    type: str
    message: str


class ErrorResponseWire(msgspec.Struct):
    """An error."""

    type: Literal["error"]
    error: ErrorObject


def _statuses(kinds: tuple[type[GatewayError], ...]) -> dict[type[GatewayError], int]:
    return {kind: STATUSES.get(kind.status, kind.status) for kind in kinds}


_EVENTS = (
    "message_start", "content_block_start", "content_block_delta", "content_block_stop",
    "message_delta", "message_stop", "ping", "error",
)  # fmt: skip
_ERRORS = (*OF_A_TURN, ToolChoiceUnmet)
_ASKED = {"model": "local", "messages": [{"role": "user", "content": "What is the weather?"}]}

_OPERATIONS = (
    Operation(
        "POST",
        "/v1/messages",
        "Make a message",
        "Anthropic's Messages API on any backend, streamed with `stream: true`.",
        body=MessagesRequest,
        example={**_ASKED, "max_tokens": 1024},
        answer=MessageObject,
        events=dict.fromkeys(_EVENTS, StreamEvent),
        errors=_ERRORS,
        statuses=_statuses(_ERRORS),
        error=ErrorResponseWire,
    ),
    Operation(
        "POST",
        "/v1/messages/count_tokens",
        "Count the tokens of a request",
        body=CountRequest,
        example=_ASKED,
        answer=TokenCount,
        errors=_ERRORS,
        statuses=_statuses(_ERRORS),
        error=ErrorResponseWire,
    ),
)

API = Api("Anthropic Messages", "Messages", _OPERATIONS)
