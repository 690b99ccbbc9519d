"""What became of a malformed input: the one place that says whether that is right."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tests.contract.chatting import Backend, Recitation, chat
from tests.contract.malformed.answers import MALFORMED, BadCall
from tests.contract.malformed.case import BadRequest
from tests.contract.wire import body, tool

from toolwire.backends.base import BackendRequest
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.json_boundary import is_unclosed

KEY_TWICE = ("a key twice", "a key twice inside")
"""Not what JSON should be, but every client decodes it, and takes the last."""
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


Outcome: TypeAlias = Literal["repaired", "rejected", "labelled", "missed"]
"""What a client gets of a bad call: a call that fits, no call, the call with a finding, or the call
without a word."""


@dataclass(frozen=True)
class Delivered:
    """What a client sees of an answer: its calls' arguments, and what was found."""

    status: int
    arguments: tuple[str, ...] = ()
    finish: str | None = None
    finding: str | None = None
    content: str = ""
    asked: int = 1


def outcome(case: BadCall, seen: Delivered) -> Outcome:
    """What became of the call."""
    if not seen.arguments:
        return "rejected"
    if seen.finding is not None:
        return "labelled"
    return "repaired" if _as_json(seen.arguments[0]) == case.repaired else "missed"


Form: TypeAlias = Literal["whole", "stream", "live"]
"""How an answer is asked for: at once, as a stream, or as one whose client shows arguments while
they arrive."""


def wrong_with_answer(case: BadCall, form: Form) -> str | None:
    """Why what a client sees of a call is not right; None if it is."""
    began = time.process_time()
    seen = delivered(case, form=form)
    if time.process_time() - began > SOON:
        return "it took too long"
    if seen.status != 200:
        return f"the status is {seen.status}"
    wanted = _wanted(case, seen, live=form == "live")
    if outcome(case, seen) not in wanted or (case.code and seen.finding != case.code):
        return f"{outcome(case, seen)}, not {wanted}: {seen}"[:300]
    if form != "live" and any(not isinstance(_as_json(text), dict) for text in seen.arguments):
        return f"a client cannot decode {seen.arguments[0][:200]!r}"
    if seen.finish == "tool_calls" and any(is_unclosed(text) for text in seen.arguments):
        return "what is not closed was called finished"
    return None


def _wanted(case: BadCall, seen: Delivered, *, live: bool) -> tuple[Outcome, ...]:
    if case.code is not None:
        unreadable = not isinstance(_as_json(_said(case)), dict) or (
            case.code == MALFORMED and case.name not in KEY_TWICE
        )
        return ("rejected",) if unreadable and not live else ("labelled",)
    # A live call has begun to say what the model said, so only what was held back was repaired.
    as_said = live and seen.arguments == (_said(case),)
    return ("repaired", "labelled") if as_said else ("repaired",)


def strict_outcome(case: BadCall) -> tuple[Outcome, str | None]:
    """What became of a call of a strict tool with one integer, and why that is not right."""
    seen = delivered(case, schema=_ONE_INTEGER, strict=True)
    if seen.status == 502:
        code = seen.finding
        fine = code in ("invalid_tool_arguments", "malformed_tool_arguments")
        return "rejected", None if fine else code
    value = _as_json(seen.arguments[0])
    fits = isinstance(value, dict) and list(value) == ["x"] and type(value["x"]) is int
    if fits and seen.finding is None:
        return "repaired", None
    return "missed", f"{seen.arguments[0]!r} was delivered"


_ONE_INTEGER = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}


def comes_right(case: BadCall, *, form: Form = "whole", strict: bool = False) -> bool:
    """Whether the client gets a right call of a model that makes one when it is told."""
    right = '{"x": 1}' if strict else case.right
    schema = _ONE_INTEGER if strict else None
    seen = delivered(case, right, schema=schema, form=form, strict=strict)
    return seen.arguments == (right,) and seen.finding is None and seen.asked > 1


def delivered(
    case: BadCall,
    then: str | None = None,
    *,
    schema: Any = None,
    form: Form = "whole",
    strict: bool = False,
) -> Delivered:
    """What a client sees of a model that makes this call; and another one when it is told."""
    more = {"strict": True} if strict else {}
    raw = body(tools=[tool("f", schema or case.schema, **more)], stream=form != "whole")
    backend = Model(turns=[_call(case.tool, case.arguments), _call("f", then)][: 1 + bool(then)])
    client = chat(raw, backend, headers={b"toolwire-profile": form.encode()})
    asked = len(backend.opened)
    if client.status != 200:
        return Delivered(client.status, finding=client.json["error"]["code"], asked=asked)
    return at_once(client, asked) if form == "whole" else streamed(client.chunks, asked)


@dataclass
class Model(Backend):
    """Says one thing after the other, and the last one whenever it is asked again."""

    turns: Sequence[Sequence[Sequence[Fragment]]] = ()

    async def open(self, outgoing: BackendRequest) -> Recitation:
        self.blocks = self.turns[min(len(self.opened), len(self.turns) - 1)]
        return await super().open(outgoing)


def _call(name: str, arguments: str | None) -> list[list[Fragment]]:
    call = CallFragment(0, "a", name, arguments)
    return [[Fragment(calls=(call,))], [Fragment(finish="tool_calls")]]


def at_once(client: Any, asked: int) -> Delivered:
    """A whole answer."""
    (choice,) = client.json["choices"]
    calls = choice["message"].get("tool_calls", ())
    found = client.headers.get("toolwire-findings", "").partition(":")[0] or None
    return Delivered(
        200,
        tuple(call["function"]["arguments"] for call in calls),
        choice["finish_reason"],
        found,
        choice["message"]["content"] or "",
        asked,
    )


def streamed(chunks: list[Any], asked: int) -> Delivered:
    """The same of a stream."""
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    calls = [call for choice in choices for call in choice["delta"].get("tool_calls", ())]
    arguments = "".join(call["function"]["arguments"] for call in calls)
    findings = chunks[-1].get("toolwire", {}).get("findings") or [{"code": None}]
    finish = choices[-1]["finish_reason"]
    found = findings[0]["code"]
    return Delivered(200, (arguments,) if calls else (), finish, found, asked=asked)


def _said(case: BadCall) -> str:
    """What the model said, but for what every call without arguments is given."""
    return "{}" if case.arguments.strip() in ("", "null") else case.arguments


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
