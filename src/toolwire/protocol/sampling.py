"""Sampling parameters that every surface and most servers support."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import astuple

from toolwire.protocol.content import WireJson

FormatKind: TypeAlias = Literal["text", "json_object", "json_schema", "other"]

_ANY_OBJECT = b'{"type":"object"}'


class SamplingParams(msgspec.Struct, frozen=True):
    """The parameters that the client set. None, or an empty `stop`, means the server's default."""

    n: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: Mapping[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    thinking: bool | None = None
    """Whether the model should think. Each server takes this in a form of its own."""

    def given(self) -> dict[str, Any]:
        """Return the parameters that were set, by name."""
        if self is DEFAULT_SAMPLING:
            return {}
        values = zip(self.__struct_fields__, astuple(self), strict=True)
        return {name: value for name, value in values if value is not None and value != ()}


DEFAULT_SAMPLING = SamplingParams()


class ResponseFormat(msgspec.Struct, frozen=True):
    """The requested format of text output. `schema` is a JSON Schema, or empty."""

    kind: FormatKind
    schema: bytes = b""
    origin: WireJson | None = None

    @property
    def is_json(self) -> bool:
        """Whether text output must be JSON."""
        return self.kind in ("json_object", "json_schema")

    @property
    def json_schema(self) -> bytes:
        """The JSON Schema for text output; one that allows any object if the client sent none."""
        return self.schema or _ANY_OBJECT
