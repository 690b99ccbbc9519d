"""What the engine is asked for a turn: one body, or three where the model may choose.

The bodies are those of a llama.cpp server, written by the code that writes them for servers. Only
a schema is put otherwise, as a grammar of its own: see `embedded_schema`.
"""

import msgspec
from msgspec.structs import replace

from toolwire.backends.base import Outgoing
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.embedded_check import TEMPTATION
from toolwire.backends.embedded_choice import PROBE, Body, TextOrCall
from toolwire.backends.embedded_engine import Engine
from toolwire.backends.embedded_schema import grammar_of, narrowed
from toolwire.backends.openai_request import encode_body, ignored_params
from toolwire.errors import UpstreamRefused
from toolwire.protocol.chat import Request

_OFFERED = DIALECTS["llamacpp"].with_params(add=(), remove=("n",))
"""One turn at a time, so one choice at a time."""

_DIALECT = _OFFERED.with_params(add=("return_progress", "id_slot"), remove=())
_HELD = _DIALECT.with_params(add=("grammar",), remove=("response_format",))
_FIRST_SLOT, _SECOND_SLOT = {"id_slot": b"0"}, {"id_slot": b"1"}
"""For prompts without examples, and with them."""

_LIMITS = ("max_tokens", "max_completion_tokens")
_ENDS = (*_LIMITS, "stop")
"""What must not end a request for one token."""


_ANY_OBJECT = msgspec.Raw(b'{"type":"object"}')


class _Form(msgspec.Struct):
    schema: msgspec.Raw = _ANY_OBJECT


class _ResponseFormat(msgspec.Struct):
    type: str | None = None
    json_schema: _Form | None = None


def ignored(request: Request) -> list[str]:
    """The parameters of a request that the engine is not sent."""
    return ignored_params(request, _OFFERED)


def bodies_for(outgoing: Outgoing, engine: Engine) -> Body | TextOrCall:
    """What to ask the engine. Raises `UpstreamRefused` for what it cannot be held to."""
    outgoing = _streamed(outgoing, engine)
    schema = outgoing.schema or _wanted_schema(outgoing.request)
    if not schema:
        return _free(outgoing, engine)
    messages = outgoing.messages_for_schema or outgoing.messages
    held = _held(replace(outgoing, messages=messages), schema, engine)
    if not outgoing.optional:
        return held
    free, request = replace(outgoing, schema=b""), outgoing.request
    if outgoing.messages_for_schema and engine.habits.examples:
        free = _with(free, {**request.params, **_FIRST_SLOT})
    params = {name: raw for name, raw in free.request.params.items() if name not in _ENDS}
    probe = _with(free, {**params, **PROBE})
    text, threshold = _free(free, engine), engine.habits.call_threshold
    return TextOrCall(_free(probe, engine), text, call=held, threshold=threshold)


def _streamed(outgoing: Outgoing, engine: Engine) -> Outgoing:
    """Always a stream, whatever the client asked for: only between chunks can a turn be ended."""
    request = outgoing.request
    params = {name: raw for name, raw in request.params.items() if name != "id_slot"}
    params["return_progress"] = b"true"
    if engine.habits.examples:
        params |= _SECOND_SLOT
    if "seed" in params:
        # A prompt read in other pieces is rounded otherwise: a seed wants the same answer again.
        params.setdefault("cache_prompt", b"false")
    request = replace(request, stream=True, include_usage=True, params=params)
    return replace(outgoing, request=request)


def _wanted_schema(request: Request) -> bytes:
    """The schema of the client's `response_format`, if it wants JSON."""
    raw = request.params.get("response_format", b"null")
    try:
        wanted = msgspec.json.decode(raw, type=_ResponseFormat | None)
    except msgspec.ValidationError as error:
        text = f"The embedded model cannot read 'response_format': {error}."
        raise UpstreamRefused(text, status=400, param="response_format") from None
    if wanted is None or wanted.type not in ("json_schema", "json_object"):
        return b""
    return bytes(wanted.json_schema.schema if wanted.json_schema else _ANY_OBJECT)


def _free(outgoing: Outgoing, engine: Engine) -> Body:
    return Body(b"".join(encode_body(outgoing, _DIALECT, engine.name)))


def _held(outgoing: Outgoing, schema: bytes, engine: Engine) -> Body:
    request = outgoing.request
    try:
        narrow = narrowed(schema, engine.habits.bounds, separate=bool(outgoing.schema))
    except ValueError as error:
        raise UpstreamRefused(f"The embedded model cannot do this: {error}.", status=400) from None
    params = _limited(request, engine.habits.bounds.tokens)
    if outgoing.schema:
        params.pop("stop", None)  # for text: it would cut a call in two
    if not engine.has_grammars:
        schema = msgspec.json.encode(narrow)
        return _free(_with(outgoing, params, schema), engine)
    grammar = grammar_of(narrow)
    params["grammar"] = msgspec.json.encode(grammar)
    content = b"".join(encode_body(_with(outgoing, params), _HELD, engine.name))
    tempted = {name: raw for name, raw in params.items() if name not in _ENDS} | TEMPTATION
    tempting = b"".join(encode_body(_with(outgoing, tempted), _HELD, engine.name))
    return Body(content, grammar, tempting)


def _with(outgoing: Outgoing, params: dict[str, bytes], schema: bytes = b"") -> Outgoing:
    return replace(outgoing, request=replace(outgoing.request, params=params), schema=schema)


def _limited(request: Request, tokens: int) -> dict[str, bytes]:
    params = dict(request.params)
    if tokens and not any(limit in params for limit in _LIMITS):
        params["max_tokens"] = str(tokens).encode()
    return params
