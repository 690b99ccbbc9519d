"""Decodes the body of `POST /v1/responses`: first the fields, then, with stored items, the
conversation."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError
from toolwire.protocol.json_limits import MOST_VALUES, check_width
from toolwire.protocol.requests import Request
from toolwire.protocol.tools import FREE_CHOICE, ToolChoice
from toolwire.surfaces.explain import check_depth, check_length, could_be_deeper, decode, missing
from toolwire.surfaces.repeated_tools import RepeatedTools
from toolwire.surfaces.responses.request.fields import ResponsesParams, read_params
from toolwire.surfaces.responses.request.items import Item, ReadInput, is_reference, read_items
from toolwire.surfaces.responses.request.tool_choice import read_choice
from toolwire.surfaces.responses.request.tools import OfferedTools, ResponseToolReader

_decode_input = msgspec.json.Decoder(str | list[dict[str, Any]])
_encode = msgspec.json.Encoder().encode
_NULL = Raw(b"null")
_ADDING = ("additional_tools", "tool_search_output")
"""Items that add tools."""


class ParsedResponsesRequest(msgspec.Struct, frozen=True):
    """A decoded request, before stored items are added."""

    params: ResponsesParams
    items: Sequence[Item]
    previous: str | None
    """The response that this one follows."""
    refers: bool
    """Whether the conversation refers to stored items."""

    @property
    def is_probe(self) -> bool:
        """Whether the request is empty: some tools probe an API that way."""
        few = self.params.values.get("max_output_tokens") == 1
        return few and not self.items and self.previous is None


class ReadRequest(msgspec.Struct, frozen=True):
    """A request with its whole conversation."""

    request: Request
    tools: OfferedTools
    positions: Sequence[int]
    """The index of the item that each message came from."""


class ResponseReader(msgspec.Struct, frozen=True):
    """Decodes bodies. Holds the tool cache and the limits, but no state of requests."""

    tools: ResponseToolReader
    max_items: int
    strict_parallel: bool = False
    max_values: int = MOST_VALUES
    bodies: RepeatedTools = msgspec.field(default_factory=RepeatedTools)

    def read(self, body: bytes) -> ParsedResponsesRequest:
        """Decode one body. Raises `RequestError`."""
        check_width(body, "", self.max_values)
        fields = self.bodies.members(body)
        if _NULL in fields.values():
            fields = {name: raw for name, raw in fields.items() if raw != _NULL}
        params = read_params(fields, self.tools.max_depth)
        _check_model(params)
        items, previous = self._items(fields), params.values.get("previous_response_id")
        refers = previous is not None or any(map(is_reference, items))
        asked = ParsedResponsesRequest(params, items, previous, refers)
        if not asked.items and asked.previous is None and not asked.is_probe:
            raise missing("input")
        return asked

    def request(self, asked: ParsedResponsesRequest, items: Sequence[Item]) -> ReadRequest:
        """Build the request with these items as its conversation. Raises `RequestError`."""
        params = asked.params
        tools = self._tools(params, items)
        conversation = read_items(items, tools, params.values.get("instructions"))
        self._check_width(conversation)
        if not conversation.messages:
            raise _nothing_left()
        parallel, adjusted = self._parallel(params, tools)
        request = Request(
            model=params.values["model"],
            messages=tuple(conversation.messages),
            tools=tools,
            choice=_choice(params, tools),
            parallel=parallel,
            stream=bool(params.values.get("stream")),
            include_usage=True,
            sampling=params.sampling(),
            response_format=params.response_format(),
            extras=params.extras(),
            ignored=(*params.ignored, *tools.ignored, *conversation.ignored),
            adjusted=adjusted,
            repairs=(*tools.repairs, *conversation.repairs),
        )
        request = params.with_own_fields(request, conversation.sealed)
        return ReadRequest(request, tools, conversation.positions)

    def _items(self, fields: dict[str, Raw]) -> Sequence[Item]:
        if "input" not in fields:
            return ()
        raw = fields["input"]
        said: str | list[dict[str, Any]] = decode(_decode_input, raw, "input")
        if could_be_deeper(bytes(raw), self.tools.max_depth):
            check_depth(said, "input", self.tools.max_depth)
        if isinstance(said, str):
            return ({"type": "message", "role": "user", "content": said},)
        check_length("input", len(said), self.max_items)
        return said

    def _tools(self, params: ResponsesParams, items: Sequence[Item]) -> OfferedTools:
        more = {
            f"input[{at}].tools": Raw(_encode(item["tools"]))
            for at, item in enumerate(items)
            if item.get("type") in _ADDING and item.get("tools")
        }
        return self.tools.read(params.raws.get("tools"), more)

    def _parallel(
        self, params: ResponsesParams, tools: OfferedTools
    ) -> tuple[bool, tuple[str, ...]]:
        asked = params.values.get("parallel_tool_calls")
        if asked and tools.strict and not self.strict_parallel:
            return False, ("parallel_tool_calls",)
        return asked is not False, ()

    def _check_width(self, conversation: ReadInput) -> None:
        """Check the width of arguments: they are JSON inside JSON, and count towards the limit."""
        for message, at in zip(conversation.messages, conversation.positions, strict=True):
            for call in message.calls:
                if len(call.arguments) > self.max_values:
                    check_width(call.arguments, f"input[{at}].arguments", self.max_values)


def _check_model(params: ResponsesParams) -> None:
    if "model" not in params.values:
        raise missing("model")
    if not 0 < len(params.values["model"]) <= 256:
        raise RequestError(
            "Invalid 'model': expected a model name of 1 to 256 characters.",
            param="model",
            code="invalid_value",
        )


def _choice(params: ResponsesParams, tools: OfferedTools) -> ToolChoice:
    if "tool_choice" not in params.raws:
        return FREE_CHOICE
    return read_choice(bytes(params.raws["tool_choice"]), tools)


def _nothing_left() -> RequestError:
    return RequestError(
        "Invalid 'input': it has no message that a model could answer. Send at least one item of "
        "type 'message'.",
        param="input",
        code="invalid_value",
    )
