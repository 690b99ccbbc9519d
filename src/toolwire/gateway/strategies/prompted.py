"""Strategies that describe the tools in the prompt and parse calls from the text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from msgspec.structs import replace

from toolwire.backends.base import BackendRequest, Constraint
from toolwire.errors import UpstreamError
from toolwire.formats import Trace, get, parser_for
from toolwire.formats.rendering.escape_markers import guarded
from toolwire.formats.text_reader import TextReader
from toolwire.gateway.observer import Lack
from toolwire.gateway.plan import Plan
from toolwire.gateway.strategies.base import StrategyKind, ToolStrategy
from toolwire.gateway.strategies.calls_schema import (
    CALLS_FORMAT,
    calls_or_response_schema,
    calls_schema,
    response_schema,
)
from toolwire.gateway.strategies.constrained_reader import ConstrainedReader
from toolwire.gateway.strategies.prompting import prompted, without_system
from toolwire.gateway.strategies.refusals import refused
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import NO_TOOLS

DEFAULT_FORMAT = "hermes"
"""The format that most open models have been trained on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted(ToolStrategy):
    """The model writes its calls in its own format, unconstrained."""

    kind: ClassVar[StrategyKind] = "prompted"

    format: str = DEFAULT_FORMAT
    examples: int = 0
    """How many example calls of other tools the model is shown."""
    one_call: bool = False
    """Whether the model is asked for at most one call, whatever the client allows."""

    @property
    def rewrites(self) -> bool:
        """See `ToolStrategy.rewrites`."""
        return True

    def outgoing(self, plan: Plan) -> BackendRequest:
        """See `ToolStrategy.outgoing`."""
        response_schema = _response_schema(plan)
        messages = self._written(plan, response_schema, self.examples)
        special = self._keeps_special_tokens(plan)
        return BackendRequest(
            _request(plan, response_schema), messages, NO_TOOLS, keep_special_tokens=special
        )

    def _fences(self, plan: Plan) -> bool:  # noqa: ARG002
        """Always: code fences are the most common mistake of prompted models."""
        return True

    def _written(
        self, plan: Plan, response_schema: Mapping[str, Any] | None, examples: int
    ) -> Sequence[ChatMessage]:
        outgoing = self._escaped(plan)
        messages = prompted(
            outgoing.messages,
            outgoing.tools,
            plan.request.choice,
            parallel=self._parallel(plan),
            format_name=guarded(get(self.format), self.marks),
            response_schema=response_schema,
            examples=examples,
        )
        return messages if self.system_role else without_system(messages)

    def _parallel(self, plan: Plan) -> bool:
        return plan.request.parallel and not self.one_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Constrained(Prompted):
    """The server constrains the model to a JSON Schema of calls.

    `union`: the schema also allows text in the client's `response_format`.
    """

    kind: ClassVar[StrategyKind] = "constrained"

    format: str = CALLS_FORMAT
    union: bool = False

    def outgoing(self, plan: Plan) -> BackendRequest:
        """See `ToolStrategy.outgoing`."""
        response_schema = _response_schema(plan)
        request, messages = (
            _request(plan, response_schema),
            self._written(plan, response_schema, self.examples),
        )
        schema = calls_schema(plan.callable_tools, parallel=self._parallel(plan))
        if self.union and response_schema is not None:
            constraint = Constraint(calls_or_response_schema(schema, response_schema))
        elif plan.request.choice.mode == "required":
            constraint = Constraint(schema)
        else:
            # Examples help a weak model to call, but also tempt it to call needlessly.
            constraint = Constraint(schema, optional=True, messages=messages)
            messages = self._written(plan, response_schema, 0)
        return BackendRequest(request, messages, NO_TOOLS, constraint)

    def _parser(self, plan: Plan, trace: Trace | None, repairs: set[str]) -> TextReader:
        """See `ToolStrategy.parser`."""
        parser = parser_for(self.format, plan.outgoing.tools.tools.values(), trace=trace)
        demanded = plan.request.choice.mode == "required"
        return ConstrainedReader(parser, repairs, demanded=demanded)

    def lack(self, error: UpstreamError, messages: Sequence[ChatMessage] = ()) -> Lack | None:
        """See `ToolStrategy.lack`."""
        return ToolStrategy.lack(self, error, messages) or refused(
            error, "union" if self.union else "constraint"
        )


def _response_schema(plan: Plan) -> Mapping[str, Any] | None:
    return response_schema(plan.request) if plan.offers_tools else None


def _request(plan: Plan, response_schema: Mapping[str, Any] | None) -> Request:
    """Drop `response_format`: a server that enforces it would not allow calls."""
    return plan.request if response_schema is None else replace(plan.request, response_format=None)
