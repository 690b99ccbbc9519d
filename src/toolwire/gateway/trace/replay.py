"""Replays a trace through the current code, without a backend, and reports differences."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

import msgspec

from toolwire.errors import UpstreamError
from toolwire.formats import names
from toolwire.gateway.answer.attempt import Attempt
from toolwire.gateway.answer.collect import Whole
from toolwire.gateway.plan import Plan, RepairPolicy, make_plan
from toolwire.gateway.repair.costly import CheckedCall, CostlyCall
from toolwire.gateway.repair.rules import EVERY_RULE
from toolwire.gateway.strategies.recorded import recorded_strategy
from toolwire.gateway.tool_limits import ToolLimiter, ToolLimits
from toolwire.gateway.trace.records import join_sent
from toolwire.gateway.trace.shape import check_shape
from toolwire.gateway.trace.text import VERSION
from toolwire.protocol.events import Event
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.requests import Request
from toolwire.protocol.usage import TokenUsage

CheckCalls: TypeAlias = Callable[[Sequence[CostlyCall]], Sequence[CheckedCall]]


class CannotReplay(Exception):
    """The trace cannot be replayed. The message says why."""


class Difference(msgspec.Struct, frozen=True):
    """A difference in attempt `attempt` (from 1) between the trace and the replay."""

    attempt: int
    what: str
    then: Any
    now: Any


def check_replayable(record: Any) -> Mapping[str, Any]:
    """Return the record if it can be replayed. Raises `CannotReplay`."""
    if not isinstance(record, dict) or "attempts" not in record:
        raise CannotReplay("This is not a trace of Toolwire.")
    if record.get("version") != VERSION:
        raise CannotReplay(f"This trace has version {record.get('version')}, not {VERSION}.")
    if not record.get("bodies"):
        raise CannotReplay(
            "This trace was made without bodies, so there is no text to run again. "
            "Set 'bodies = true' under [trace] and make the request once more."
        )
    if record.get("plan") is None:
        raise CannotReplay("The request of this trace was refused, so no backend was asked.")
    try:
        check_shape(record)
    except msgspec.ValidationError as error:
        raise CannotReplay(f"This trace is damaged: {error}.") from None
    used = {attempt["strategy"]["format"] for attempt in record["attempts"]}
    if unknown := used.difference([None, "", *names()]):
        raise CannotReplay(f"This version has no format '{min(unknown)}', which the trace needs.")
    return record


def replay(record: Mapping[str, Any], request: Request, check: CheckCalls) -> list[Difference]:
    """Replay every attempt of a trace. `request` is its parsed body, and `check` validates costly
    calls."""
    plan = _plan(record["plan"], request)
    found: list[Difference] = []
    seen = ""
    for number, attempt in enumerate(record["attempts"], 1):
        if attempt["heard"]:
            now = _run(attempt, plan, check, seen)
            found += [Difference(number, *found) for found in _differences(attempt, now)]
        seen += "".join(sent.get("content") or "" for sent in attempt["sent"].values())
    return found


def _plan(recorded: Mapping[str, Any], request: Request) -> Plan:
    off = set(EVERY_RULE.names).difference(recorded["rules"])
    repair_policy = RepairPolicy(
        EVERY_RULE.without(off),
        streams="whole" if recorded["whole_streams"] else "live",
        loop_after=recorded["loop_after"],
    )
    return make_plan(
        request,
        repair_history=recorded["repair_history"],
        custom_tools=recorded["custom_tools"],
        repair_policy=repair_policy,
        tool_limiter=_limiter(recorded.get("tool_limits")),
    )


def _limiter(recorded: Mapping[str, Any] | None) -> ToolLimiter | None:
    return None if recorded is None else ToolLimiter(msgspec.convert(recorded, ToolLimits))


def _run(recorded: Mapping[str, Any], plan: Plan, check: CheckCalls, seen: str) -> dict[str, Any]:
    """Process a recorded answer with the current code, after the client has `seen` text. Return the
    result in trace form."""
    sent: list[tuple[int, list[Event]]] = []
    numbers = count()
    attempt = Attempt(
        plan,
        recorded_strategy(**recorded["strategy"]),
        lambda choice, events: sent.append((choice, events)),
        lambda: f"call_{next(numbers)}",
        final=recorded["final"],
        resumed=recorded["resumed"],
        before=seen,
    )
    error = None
    try:
        for block in recorded["heard"]:
            attempt.feed([_fragment(written) for written in block["fragments"]])
        if recorded["done"] is not None:
            attempt.finish(done=recorded["done"])
            if attempt.costly:
                attempt.resolve(check(attempt.costly))
    except UpstreamError as raised:
        error = raised.code
    if recorded["done"] is None:
        error = (recorded["error"] or {}).get("code")  # a backend error is not replayed
    return {
        "sent": {str(choice): _whole(whole) for choice, whole in join_sent(sent).items()},
        "findings": [[finding.code, finding.tool] for finding in attempt.findings],
        "repairs": sorted(attempt.repairs),
        "error": error,
    }


def _differences(
    recorded: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterable[tuple[str, Any, Any]]:
    error = recorded["error"]
    then = {
        "findings": [[finding["code"], finding["tool"]] for finding in recorded["findings"]],
        "repairs": recorded["repairs"],
        "error": error and error["code"],
    }
    for choice in sorted({*recorded["sent"], *now["sent"]}):
        old, new = _shown(recorded["sent"].get(choice)), now["sent"].get(choice, {})
        for what in sorted({*old, *new}):
            if old.get(what) != new.get(what):
                yield f"choice {choice}, {what}", old.get(what), new.get(what)
    for what, value in then.items():
        if value != now[what]:
            yield what, value, now[what]


def _shown(sent: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what was sent without ids, which are new each time."""
    return {} if sent is None else {**sent, "calls": [call[1:] for call in sent["calls"]]}


def _whole(whole: Whole) -> dict[str, Any]:
    return {
        "content": whole.content,
        "reasoning": whole.reasoning,
        "calls": [[call.name, call.arguments] for call in whole.calls],
        "finish": whole.reason,
    }


def _fragment(written: Mapping[str, Any]) -> Fragment:
    fields = dict(written)
    fields["calls"] = tuple(_call(call) for call in fields.get("calls", ()))
    fields["extras"] = tuple((name, text.encode()) for name, text in fields.get("extras", ()))
    if "usage" in fields:
        fields["usage"] = TokenUsage(*fields["usage"])
    return Fragment(**fields)


def _call(written: Mapping[str, Any]) -> CallFragment:
    fields = dict(written)
    if fields.pop("json", False) and "arguments" in fields:
        fields["arguments"] = msgspec.json.decode(fields["arguments"])
    return CallFragment(**fields)
