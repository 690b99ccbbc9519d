"""The parts of a Responses API answer that are read."""

from typing import Any

import msgspec
from msgspec import Raw

from toolwire.protocol.json_numbers import SteadyDecoder


class WirePart(msgspec.Struct):
    """A part of a message, or of reasoning."""

    type: str = ""
    text: str = ""
    refusal: str = ""
    logprobs: list[Any] | None = None


class WireItem(msgspec.Struct):
    """An item of the output, of any type."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = Raw(b"null")
    """JSON text in a string; some servers send the value itself."""
    input: str | None = None
    content: list[WirePart] | None = None
    summary: list[WirePart] | None = None
    encrypted_content: str | None = None
    status: str | None = None


class WireUsage(msgspec.Struct):
    """The number of tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: dict[str, Any] | None = None
    output_tokens_details: dict[str, Any] | None = None


class WireDetails(msgspec.Struct):
    """Why a response is incomplete."""

    reason: str | None = None


class WireResponse(msgspec.Struct):
    """A response, whole or at the end of a stream."""

    status: str | None = None
    output: list[WireItem] | None = None
    usage: WireUsage | None = None
    error: Any = None
    incomplete_details: WireDetails | None = None
    service_tier: str | None = None


class WireEvent(msgspec.Struct):
    """An event of a stream, of any type."""

    type: str = ""
    item_id: str | None = None
    output_index: int = 0
    delta: Any = None
    logprobs: list[Any] | None = None
    item: WireItem | None = None
    response: WireResponse | None = None
    summary_index: int = 0
    error: Any = None
    code: Any = None
    message: Any = None


decode_event = SteadyDecoder(WireEvent).decode
decode_response = SteadyDecoder(WireResponse).decode
