"""Requests of the contract tests: one that is right, and how it is changed."""

import json
from typing import Any

import pytest

from toolwire.errors import GatewayError, RequestError
from toolwire.gateway.plan import Plan, make_plan
from toolwire.surfaces.openai.errors import error_body
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.tools import ToolReader
from toolwire.surfaces.openai.words import worded

USER = {"role": "user", "content": "hello"}
ABSENT = object()
READER = RequestReader(ToolReader(max_tools=128, cache_bytes=1 << 20), max_messages=10_000)


def tool(name: str = "f", parameters: Any = ABSENT, **more: Any) -> dict[str, Any]:
    """A function tool."""
    function = {"name": name, **more}
    if parameters is not ABSENT:
        function["parameters"] = parameters
    return {"type": "function", "function": function}


def call(call_id: str = "call_x", name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    """A call as it stands in the history."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The assistant message that made these calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def result(call_id: str = "call_x", content: Any = "ok") -> dict[str, Any]:
    """The answer to a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def body(**changes: Any) -> bytes:
    """A body that is right but for these changes; `ABSENT` takes a field away."""
    fields = {"model": "m", "messages": [USER], **changes}
    return json.dumps(
        {name: value for name, value in fields.items() if value is not ABSENT}
    ).encode()


def history(*messages: Any) -> bytes:
    """A body with these messages."""
    return body(messages=list(messages))


def read(raw: bytes, *, repair: bool = False) -> Plan:
    """What is made of a body."""
    return make_plan(READER.read(raw), repair_history=repair)


def refusal(raw: bytes) -> RequestError:
    """Why a body is refused."""
    with pytest.raises(RequestError) as caught:
        read(raw)
    error = caught.value
    error.message, error.param = worded(error)
    return error


def shown(error: GatewayError) -> dict[str, Any]:
    """The status and the four keys that a client sees."""
    (kind, fields), *rest = json.loads(error_body(error)).items()
    assert kind == "error"
    assert not rest
    assert list(fields) == ["message", "type", "param", "code"]
    return {"status": error.status, **fields}
