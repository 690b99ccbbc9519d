"""Encodes the requests of a turn for the engine: one body, or three if the model may choose.

They are the bodies of a llama.cpp server, and are encoded by the same code. Only a schema is sent
differently, as a grammar: see `schema`.
"""

import msgspec
from msgspec.structs import replace

from toolwire.backends.base import BackendRequest, Constraint
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.embedded.call_probe import PROBE, EngineRequest, TextOrCall
from toolwire.backends.embedded.engine import EmbeddedEngine
from toolwire.backends.embedded.grammar_check import FORBIDDEN_TOKEN
from toolwire.backends.embedded.schema import grammar_of, narrowed
from toolwire.backends.openai.params import Params, ignored_params, ignored_parts, wire_params
from toolwire.backends.openai.request import encode_body
from toolwire.errors import UpstreamRefused
from toolwire.protocol.requests import Request

_OFFERED = DIALECTS["llamacpp"].with_params(add=(), remove=("n",))
"""The dialect without `n`: the engine generates one choice at a time."""

_DIALECT = _OFFERED.with_params(add=("return_progress", "id_slot"), remove=())
_HELD = _DIALECT.with_params(add=("grammar",), remove=("response_format",))
_FIRST_SLOT, _SECOND_SLOT = {"id_slot": 0}, {"id_slot": 1}
"""The slots for prompts without examples, and with them."""

_LIMITS = ("max_tokens", "max_completion_tokens")
_ENDS = (*_LIMITS, "stop")
"""Parameters that could end a request for one token early."""


def ignored(request: Request) -> list[str]:
    """Return the parameters of a request that are not sent to the engine."""
    return ignored_params(request, _OFFERED) + ignored_parts(request, _OFFERED)


def bodies_for(outgoing: BackendRequest, engine: EmbeddedEngine) -> EngineRequest | TextOrCall:
    """Return the body or bodies. Raises `UpstreamRefused` for a schema that cannot be enforced."""
    held, params = outgoing.constraint, _params(outgoing.request, engine)
    free = replace(_streamed(outgoing), constraint=None)
    if held is None:
        schema = _wanted_schema(outgoing.request)
        return _held(free, params, schema, engine) if schema else _free(free, params, engine)
    messages = held.messages or free.messages
    call = _held(replace(free, messages=messages), params, held.schema, engine, calls=True)
    if not held.optional:
        return call
    if held.messages and engine.tuning.examples:
        params = params | _FIRST_SLOT
    probe = _free(free, _endless(params) | PROBE, engine)
    text, threshold = _free(free, params, engine), engine.tuning.call_threshold
    return TextOrCall(probe, text, call=call, threshold=threshold)


def _streamed(outgoing: BackendRequest) -> BackendRequest:
    """Always stream: a turn can be cancelled only between chunks."""
    request = replace(outgoing.request, stream=True, include_usage=True)
    return replace(outgoing, request=request)


def _params(request: Request, engine: EmbeddedEngine) -> Params:
    params = wire_params(request)
    params.pop("id_slot", None)
    params["return_progress"] = True
    if engine.tuning.examples:
        params |= _SECOND_SLOT
    if "seed" in params:
        # A seed requires reproducible answers, and cached prompts change the rounding.
        params.setdefault("cache_prompt", False)
    return params


def _wanted_schema(request: Request) -> bytes:
    """Return the schema of the client's `response_format`, if it requests JSON."""
    wanted = request.response_format
    return wanted.json_schema if wanted is not None and wanted.is_json else b""


def _free(outgoing: BackendRequest, params: Params, engine: EmbeddedEngine) -> EngineRequest:
    return EngineRequest(b"".join(encode_body(outgoing, _DIALECT, engine.name, params)))


def _held(
    outgoing: BackendRequest,
    params: Params,
    schema: bytes,
    engine: EmbeddedEngine,
    *,
    calls: bool = False,
) -> EngineRequest:
    """Encode a body that constrains the model to calls, or to the client's `response_format`."""
    try:
        narrow = narrowed(schema, engine.tuning.bounds, separate=calls)
    except ValueError as error:
        raise UpstreamRefused(f"The embedded model cannot do this: {error}.", status=400) from None
    params = _limited(params, engine.tuning.bounds.tokens)
    if calls:
        params.pop("stop", None)  # meant for text: it could truncate a call
    if not engine.has_grammars:
        constraint = Constraint(msgspec.json.encode(narrow))
        return _free(replace(outgoing, constraint=constraint), params, engine)
    grammar = grammar_of(narrow)
    params["grammar"] = grammar
    content = b"".join(encode_body(outgoing, _HELD, engine.name, params))
    probe = _endless(params) | FORBIDDEN_TOKEN
    return EngineRequest(
        content, grammar, b"".join(encode_body(outgoing, _HELD, engine.name, probe))
    )


def _endless(params: Params) -> Params:
    return {name: value for name, value in params.items() if name not in _ENDS}


def _limited(params: Params, tokens: int) -> Params:
    limited = any(limit in params for limit in _LIMITS)
    return {**params, "max_tokens": tokens} if tokens and not limited else dict(params)
