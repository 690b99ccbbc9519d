"""The description of the Responses API: see `surfaces.operations`.

The request fields come from the table that the reader uses. Response objects are described only in
outline, because OpenAI defines them.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolwire.errors import HistoryError, StoreUnavailable, ToolChoiceUnmet
from toolwire.surfaces.openai_error import ErrorBody
from toolwire.surfaces.operations import ANYWHERE, OF_A_TURN, Api, Operation, Parameter
from toolwire.surfaces.responses.errors import ResponseNotFound
from toolwire.surfaces.responses.request.fields import FIELDS, FieldRule

_Object = dict[str, Any]
_NEEDED = "model"


def _field(name: str, rule: FieldRule) -> tuple[str, Any] | tuple[str, Any, None]:
    about = Meta(description=f"{rule.use.capitalize()}: {rule.about}.")
    if name == _NEEDED:
        return name, Annotated[str, about]
    if name == "input":
        return name, Annotated[str | list[_Object] | None, about], None
    plain = rule.type is None or "Struct" in str(msgspec.inspect.type_info(rule.type))
    return name, Annotated[Any if plain else rule.type, about], None


ResponsesRequest = msgspec.defstruct(
    "ResponsesRequest",
    [_field(name, rule) for name, rule in FIELDS.items()],
    namespace={
        "__doc__": "A request for a response. Other fields are accepted, and named in the header "
        "`toolwire-ignored-params`."
    },
)


class ResponseObject(msgspec.Struct):
    """A response, with the fields of the request that it echoes."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["completed", "incomplete", "in_progress", "failed"]
    model: str
    output: Annotated[
        list[_Object],
        Meta(description="Items: `message`, `reasoning`, `function_call`, `custom_tool_call`."),
    ]
    error: _Object | None = None
    incomplete_details: _Object | None = None
    usage: _Object | None = None


class ResponseEvent(msgspec.Struct):
    """An event of the stream. `sequence_number` has no gaps; the rest depends on the type."""

    type: str
    sequence_number: int


class DeletedResponse(msgspec.Struct):
    """The answer to a deletion."""

    id: str
    object: Literal["response"]
    deleted: bool


class ItemList(msgspec.Struct):
    """A page of items."""

    object: Literal["list"]
    data: list[_Object]
    first_id: str | None
    last_id: str | None
    has_more: bool


class InputTokens(msgspec.Struct):
    """The number of tokens in a request."""

    object: Literal["response.input_tokens"]
    input_tokens: int


_ID = Parameter("id", "path", "The response's id")
_STORED = (*ANYWHERE, ResponseNotFound, StoreUnavailable)
_EVENTS = (
    "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta",
    "output_text.done", "content_part.done", "reasoning_summary_part.added",
    "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done",
    "function_call_arguments.delta", "function_call_arguments.done",
    "custom_tool_call_input.delta", "custom_tool_call_input.done", "output_item.done",
    "completed", "incomplete", "failed",
)  # fmt: skip
_EXAMPLE = {"model": "local", "input": "What is the weather in Paris?"}

_OPERATIONS = (
    Operation(
        "POST",
        "/v1/responses",
        "Make a response",
        "OpenAI's Responses API on any backend, streamed with `stream: true`.",
        body=ResponsesRequest,
        example=_EXAMPLE,
        answer=ResponseObject,
        events={**{f"response.{name}": ResponseEvent for name in _EVENTS}, "error": ResponseEvent},
        errors=(*OF_A_TURN, *_STORED, HistoryError, ToolChoiceUnmet),
        error=ErrorBody,
    ),
    Operation(
        "POST",
        "/v1/responses/input_tokens",
        "Count the tokens of a request",
        body=ResponsesRequest,
        example=_EXAMPLE,
        answer=InputTokens,
        errors=(*OF_A_TURN, *_STORED, HistoryError),
        error=ErrorBody,
    ),
    Operation(
        "GET",
        "/v1/responses/{id}",
        "Show a response",
        parameters=(_ID,),
        answer=ResponseObject,
        errors=_STORED,
        error=ErrorBody,
    ),
    Operation(
        "DELETE",
        "/v1/responses/{id}",
        "Delete a response",
        parameters=(_ID,),
        answer=DeletedResponse,
        errors=_STORED,
        error=ErrorBody,
    ),
    Operation(
        "GET",
        "/v1/responses/{id}/input_items",
        "List the input of a response",
        parameters=(
            _ID,
            Parameter("after", "query", "The id behind which to go on"),
            Parameter("limit", "query", "How many at most, 1 to 100", int),
            Parameter("order", "query", "`asc`, or `desc`, the default"),
        ),
        answer=ItemList,
        errors=_STORED,
        error=ErrorBody,
    ),
)

API = Api("OpenAI Responses", "Responses", _OPERATIONS)
