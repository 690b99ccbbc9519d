"""What a client writes in a body: a request as a whole, and the schema of a tool in it.

The laws: nothing but `RequestError`, with a status of 400 and words that are JSON and not a copy of
the input; what is accepted can be sent on as JSON; a schema that was taken can judge arguments.
"""

import json

import msgspec
from msgspec import Raw
from tests.contract.chatting import chat, speaking
from tests.contract.messaging import READER as MESSAGES
from tests.contract.wire import READER, shown
from tests.fuzz.judge import check

from toolwire.backends.dialects import DIALECTS
from toolwire.backends.openai.request import encode_body
from toolwire.errors import RequestError
from toolwire.gateway.plan import make_plan
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.surfaces.messages.errors import error_body
from toolwire.surfaces.messages.tokens import estimated_prompt
from toolwire.surfaces.passing.body import read_json

_LONGEST_MESSAGE = 2000
_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_ARGUMENTS = ("{}", '{"a": 1, "b": "x", "p": null}', '{"a": {"a": {"a": []}}, "b": [1, "x", {}]}')


def run_request(data: bytes) -> object:
    """Read the bytes as a chat request, and write what the backend would get."""
    shapes = [_read(data, lenient=lenient) for lenient in (False, True)]
    _check_model_name(data)
    return tuple(shapes)


def _read(data: bytes, *, lenient: bool) -> object:
    try:
        request = READER.read(data, lenient_names=lenient)
        plan = make_plan(request, repair_history=lenient)
    except RequestError as error:
        return _refused(error)
    json.loads(b"".join(encode_body(plan.outgoing, DIALECTS["vllm"], "m")))
    return len(plan.outgoing.messages), bool(plan.offers_tools), plan.repairs


def run_message(data: bytes) -> object:
    """Read the bytes as a request to the Messages API, and write what the backend would get."""
    try:
        asked = MESSAGES.read(data)
        plan = make_plan(asked.request, repair_history=True)
    except RequestError as error:
        json.loads(error_body(error))
        return _refused(error)
    check(len(asked.origins) == len(asked.request.messages), "every message has its place")
    json.loads(b"".join(encode_body(plan.outgoing, DIALECTS["vllm"], "m")))
    check(estimated_prompt(plan.outgoing.messages, plan.outgoing.tools.size) > 0, "it is counted")
    return len(plan.outgoing.messages), bool(plan.offers_tools), plan.repairs


def _refused(error: RequestError) -> object:
    check(error.status == 400, "a request that is wrong is a 400")
    check(len(error.message) <= _LONGEST_MESSAGE, f"words are short: {len(error.message)}")
    check(len(error.param or "") <= _LONGEST_MESSAGE, "a place is short")
    check(shown(error)["message"], "an error says something")
    return type(error).__name__, error.code


def _check_model_name(data: bytes) -> None:
    """Another name for the model changes nothing else."""
    try:
        body = read_json(data, 10_000)
    except RequestError:
        return
    before, after = _decode_object(data), _decode_object(b"".join(body.under("other")))
    check({**before, "model": Raw(b'"other"')} == after, "only the model's name is changed")


def run_schema(data: bytes) -> object:
    """Take the bytes for a tool's parameters, and let a model call it."""
    shapes = []
    for strict in (b"false", b"true"):
        raw = (
            b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{"type": '
            b'"function", "function": {"name": "f", "strict": %b, "parameters": %b}}]}'
        ) % (strict, data)
        try:
            READER.read(raw)
        except RequestError as error:
            shapes.append(_refused(error))
            continue
        shapes.append(tuple(_called(raw, arguments) for arguments in _ARGUMENTS))
    return tuple(shapes)


def _called(raw: bytes, arguments: str) -> object:
    call = CallFragment(0, "a", "f", arguments)
    client = chat(raw, speaking(Fragment(calls=(call,)), Fragment(finish="tool_calls")))
    check(client.status in (200, 400, 502, 504), f"the status is documented: {client.status}")
    json.loads(client.written)
    return client.status, client.headers.get("toolwire-findings", "").partition(":")[0]
