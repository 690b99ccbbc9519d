"""What became of a malformed input: the one place that says whether that is right."""

import json
import time
from typing import Any

from tests.contract.chatting import Backend, chat, speaking
from tests.contract.malformed.answers import BadCall
from tests.contract.malformed.case import BadRequest
from tests.contract.wire import body, tool

from toolwire.protocol.fragments import CallFragment, Fragment

SOON = 2.0
"""Seconds of this process's own time, on a busy machine."""


def wrong_with_request(case: BadRequest) -> str | None:
    """Why the outcome of a request is not right; None if it is."""
    backend = Backend()
    began = time.process_time()
    client = chat(case.raw, backend)
    if time.process_time() - began > SOON:
        return "it took too long"
    if backend.opened:
        return "it reached the backend"
    if client.status != 400:
        return f"the status is {client.status}"
    error = client.json["error"]
    refusal = error["param"], error["code"]
    return None if refusal == (case.param, case.code) else f"it was refused with {refusal}"


def wrong_with_answer(case: BadCall, *, stream: bool) -> str | None:
    """Why what a client sees of a call is not right; None if it is."""
    began = time.process_time()
    client = chat(body(tools=[tool("f", case.schema)], stream=stream), model(case))
    if time.process_time() - began > SOON:
        return "it took too long"
    if client.status != 200:
        return f"the status is {client.status}"
    delivered, finding = streamed(client.chunks) if stream else at_once(client)
    if case.code is not None or stream:
        # A stream has begun to say what the model said, so only what it held back was repaired.
        repaired = stream and _as_json(delivered) == case.repaired is not None
        found = None if repaired else case.code or finding
        if finding != found or not (repaired or delivered == _said(case)):
            return f"it was delivered as {delivered[:200]!r}, with the finding {finding}"
        return None
    if _as_json(delivered) != case.repaired or finding is not None:
        return f"it was delivered as {delivered[:200]!r}, with the finding {finding}"
    return None


def wrong_with_strict_answer(case: BadCall) -> str | None:
    """Why a call of a strict tool with one integer ends otherwise than it must."""
    schema = {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
        "additionalProperties": False,
    }
    client = chat(body(tools=[tool("f", schema, strict=True)]), model(case))
    if client.status == 502:
        code = client.json["error"]["code"]
        return None if code in ("invalid_tool_arguments", "malformed_tool_arguments") else code
    delivered, finding = at_once(client)
    value = _as_json(delivered)
    fits = isinstance(value, dict) and list(value) == ["x"] and type(value["x"]) is int
    return None if fits and finding is None else f"{delivered!r} was delivered"


def model(case: BadCall) -> Backend:
    """A model that makes this call, whenever it is asked."""
    call = CallFragment(0, "a", case.tool, case.arguments)
    return speaking(Fragment(calls=(call,)), Fragment(finish="tool_calls"))


def at_once(client: Any) -> tuple[str, str | None]:
    """The arguments of the only call, and the code of what was found."""
    (call,) = client.json["choices"][0]["message"]["tool_calls"]
    found = client.headers.get("toolwire-findings", "").partition(":")[0] or None
    return call["function"]["arguments"], found


def streamed(chunks: list[Any]) -> tuple[str, str | None]:
    """The same of a stream."""
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    arguments = "".join(call["function"]["arguments"] for call in calls)
    findings = chunks[-1].get("toolwire", {}).get("findings") or [{"code": None}]
    return arguments, findings[0]["code"]


def _said(case: BadCall) -> str:
    """What the model said, but for what every call without arguments is given."""
    return "{}" if case.arguments.strip() in ("", "null") else case.arguments


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
