"""Requests and contents for tests, written as OpenAI's JSON."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.backends.openai.params import wire_params
from toolwire.protocol.content import Part
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.surfaces.chat.params import read_params
from toolwire.surfaces.chat.parts import read_part


def asking(
    messages: tuple[ChatMessage, ...], params: Mapping[str, bytes] | None = None, **more: Any
) -> Request:
    """A request with these parameters; null is none."""
    given = {name: Raw(json) for name, json in (params or {}).items() if json != b"null"}
    read = read_params(given, 200)
    return Request(
        "m",
        messages,
        sampling=read.sampling_params,
        response_format=read.response_format,
        extras=read.extras,
        **more,
    )


def parts(*json: bytes) -> tuple[Part, ...]:
    """Parts of a content."""
    return tuple(read_part(raw, "content") for raw in json)


def given(request: Request) -> dict[str, Any]:
    """The parameters of a request, by name."""
    return {
        name: msgspec.json.decode(msgspec.json.encode(value))
        for name, value in wire_params(request).items()
    }
