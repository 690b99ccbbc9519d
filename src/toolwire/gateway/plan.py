"""Turns a request into a plan for its turn. Every invalid request is refused here, before any
byte goes out."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from toolwire.backends.base import BackendRequest
from toolwire.errors import Place, RequestError
from toolwire.gateway.answer.policy import Policy
from toolwire.gateway.history import check_history
from toolwire.gateway.observer import Lack
from toolwire.gateway.repair.buffered_validator import BufferedValidator
from toolwire.gateway.repair.costly import Allowance
from toolwire.gateway.repair.loops import break_loop, find_loop
from toolwire.gateway.repair.rules import EVERY_RULE, RepairRules
from toolwire.gateway.repair.streaming_validator import StreamingValidator
from toolwire.gateway.repair.validation import Validator
from toolwire.gateway.strategies.prompting import demand_of
from toolwire.gateway.tool_limits import ToolLimiter
from toolwire.protocol.content import size_of
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import ToolChoice, ToolSet, ToolSpec


class RepairPolicy(msgspec.Struct, frozen=True):
    """What to do about invalid calls."""

    rules: RepairRules = EVERY_RULE
    streams: Literal["auto", "live", "whole"] = "auto"
    """When a stream delivers a call: while it is written, or once it is complete and validated.
    `auto` streams it only if the client displays it live, because a streamed call cannot be
    repaired."""
    loop_after: int = 3
    """Number of identical invalid calls before the model is warned; 0: never."""


DEFAULT_REPAIR_POLICY = RepairPolicy()

_LONG = 128 * 1024
_MANY = 1000


def is_long(messages: Sequence[ChatMessage]) -> bool:
    """Whether a conversation is large enough to process off the event loop."""
    size = 0
    for message in messages:
        size += size_of(message.content)
        size += sum(len(call.arguments) for call in message.calls)
    return size > _LONG or len(messages) > _MANY


class Plan(msgspec.Struct, frozen=True):
    """One turn, ready to run."""

    request: Request
    outgoing: BackendRequest
    repairs: tuple[str, ...]
    offers_tools: bool
    """Whether the model may call tools. Without tools a request is not changed."""
    repair_policy: RepairPolicy = DEFAULT_REPAIR_POLICY
    large: bool = False
    """Whether the request is large enough to process off the event loop."""
    strictly: bool = False
    """Whether the backend must constrain calls to their schemas."""
    asker: str = ""
    """The name of the client's API key. Its own observations count for it immediately."""
    lacks: tuple[tuple[str, Lack], ...] = ()
    """What this turn has seen that a backend lacks, with the name of the backend."""

    @property
    def delivery(self) -> Literal["live", "whole"]:
        """How calls are delivered: while they are written, or once complete and validated."""
        request = self.request
        if not request.stream or request.tools.strict or request.exact_calls:
            return "whole"
        if self.whole_streams:
            return "whole"
        return "live"

    @property
    def whole_streams(self) -> bool:
        """Whether streams also deliver a call only once it is complete and validated."""
        streams = self.repair_policy.streams
        return streams == "whole" or (streams == "auto" and not self.request.shows_calls)

    def policy(self, *, final: bool) -> Policy:
        """Create the policy for one choice."""
        request, tools = self.request, self.outgoing.tools.tools
        # With several choices, another may have the call, and the client may have seen it.
        final = final or (request.sampling.n or 1) > 1
        return Policy(
            request.choice,
            parallel=request.parallel,
            tools=tools,
            aliases=request.tools.aliases,
            final=final,
        )

    def validator(
        self, allowance: Allowance, *, final: bool, resumed: bool, seen: str = ""
    ) -> Validator | None:
        """Create the validator for one choice; None if it cannot contain calls."""
        exact = self.request.exact_calls
        if not self.offers_tools and not exact:
            return None
        tools, rules = self.outgoing.tools, self.repair_policy.rules
        if self.delivery == "live":
            return StreamingValidator(tools, rules, allowance)
        return BufferedValidator(
            tools,
            rules,
            allowance,
            final=final,
            resumed=resumed,
            seen=seen,
            demanded=self.demands_call,
            exact=exact,
        )

    @property
    def demands_call(self) -> bool:
        """Whether the model must call a tool."""
        return self.offers_tools and self.request.choice.mode == "required"

    @property
    def wants_json(self) -> bool:
        """Whether the client requested a `response_format` other than text."""
        wanted = self.request.response_format
        return wanted is not None and wanted.is_json

    @property
    def is_long(self) -> bool:
        """Whether the conversation must be rewritten off the event loop."""
        return self.large or is_long(self.outgoing.messages)

    @property
    def callable_tools(self) -> list[ToolSpec]:
        """The tools that the model may call."""
        allowed = self.request.choice.allowed
        tools = self.outgoing.tools.tools.values()
        return [tool for tool in tools if allowed is None or tool.name in allowed]

    def corrected(self, said: str) -> "Plan":
        """Return the plan for a retry after an answer without the required call."""
        answer = [ChatMessage("assistant", said)] if said.strip() else []
        demand = ChatMessage("user", demand_of(self.request.choice))
        plan = self.continued([*answer, demand])
        # A server that ignores the required name cannot call another tool if it has only one.
        tools = _only(plan.outgoing.tools, self.request.choice.allowed)
        return replace(plan, outgoing=replace(plan.outgoing, tools=tools))

    def held_to(self, names: Iterable[str]) -> "Plan":
        """Return the plan for a retry after an invalid call of a strict tool. The model must call
        one of these tools, and the backend must constrain it to the schema."""
        known = frozenset(names) & self.request.tools.tools.keys()
        choice = ToolChoice("required", known or self.request.choice.allowed)
        return replace(self, request=replace(self.request, choice=choice), strictly=True)

    def without(self, backend: str, lack: Lack) -> "Plan":
        """Return the plan for a retry after this backend has turned out to lack a feature."""
        return replace(self, lacks=(*self.lacks, (backend, lack)))

    def continued(self, more: Sequence[ChatMessage]) -> "Plan":
        """Return the same plan with more messages, which only the backend sees."""
        messages = [*self.outgoing.messages, *more]
        return replace(self, outgoing=replace(self.outgoing, messages=messages))


def make_plan(
    request: Request,
    *,
    repair_history: bool,
    custom_tools: bool = False,
    repair_policy: RepairPolicy = DEFAULT_REPAIR_POLICY,
    tool_limiter: ToolLimiter | None = None,
    large: bool = False,
    asker: str = "",
) -> Plan:
    """Check what types cannot express, and decide what the backend is sent."""
    if tool_limiter is not None and request.tools.tools:
        request = tool_limiter.apply(request)
    history = check_history(request.messages, repair=repair_history)
    tools = _allowed(request)
    if not custom_tools:
        _refuse_custom(tools)
    repairs = (*request.repairs, *history.repairs) if history.repairs else request.repairs
    offers = bool(tools.tools) and request.choice.mode != "none"
    outgoing = BackendRequest(request, history.messages, tools)
    plan = Plan(request, outgoing, repairs, offers, repair_policy, large, asker=asker)
    return _out_of_loop(plan) if offers else plan


def _out_of_loop(plan: Plan) -> Plan:
    """Warn a model that keeps repeating the same invalid call."""
    most, tools = plan.repair_policy.loop_after, plan.outgoing.tools
    finding = find_loop(plan.request.messages, tools, most)  # with the tools as the model saw them
    if finding is None:
        return plan
    told = plan.continued([break_loop(finding, tools, most)])
    return replace(told, repairs=(*plan.repairs, f"loop_explained:{finding.tool}"))


def _allowed(request: Request) -> ToolSet:
    """Keep only the tools that tool_choice allows: not every backend knows `allowed_tools`."""
    return request.tools if request.choice.named else _only(request.tools, request.choice.allowed)


def _only(tools: ToolSet, allowed: frozenset[str] | None) -> ToolSet:
    if allowed is None:
        return tools
    return ToolSet(
        {name: tool for name, tool in tools.tools.items() if name in allowed},
        tools.validators,
        tools.originals,
        tools.repairs,
        tools.costs,
        tools.aliases,
    )


def _refuse_custom(tools: ToolSet) -> None:
    if tools.first_custom is not None:
        raise RequestError(
            "Unsupported value: custom tools are not supported with this model. "
            "Use a tool of type 'function'.",
            place=Place("kind", tool=tools.first_custom),
            code="unsupported_value",
        )
