"""Decodes the body of `POST /native/v1/chat`, and reports all problems at once.

Checks that depend on a stored conversation (its tools, its calls) wait until it is loaded:
`Incoming` is a decoded body, and `Incoming.request` builds the final request from it.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError
from toolwire.protocol.json_limits import MOST_VALUES, check_width
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import FREE_CHOICE, NO_TOOLS, ToolChoice, ToolSet
from toolwire.surfaces.chat.params import ChatParams, read_params
from toolwire.surfaces.native import wire
from toolwire.surfaces.native.fields import FIELDS, read_value
from toolwire.surfaces.native.history import NativeHistory
from toolwire.surfaces.native.ids import ToolCallIdMap
from toolwire.surfaces.native.problems import Problems
from toolwire.surfaces.native.tools import NativeToolReader
from toolwire.surfaces.repeated_tools import RepeatedTools

_NULL = Raw(b"null")
_NO_MESSAGE = (
    "Invalid 'messages': there is nothing to answer. Send at least one message, or 'tool_results'."
)
_REFUSED = {
    "n": "The native API makes one answer per request. Leave 'n' out, or set it to 1.",
    "stream_options": "Leave 'stream_options' out: streams always report usage.",
}


class Earlier(msgspec.Struct):
    """The conversation before a request. `tools` and `model` are defaults for the request."""

    instructions: list[wire.MessageWire] = msgspec.field(default_factory=list)
    messages: list[wire.MessageWire] = msgspec.field(default_factory=list)
    ids: ToolCallIdMap = msgspec.field(default_factory=ToolCallIdMap)
    tools: ToolSet = NO_TOOLS
    model: str = ""
    known_only: bool = False
    """Whether calls repeated in the request must be in `ids`."""


class Incoming(msgspec.Struct):
    """A decoded body. `problems` collects its problems so far."""

    fields: dict[str, Any]
    """The fields of `ChatRequest`; None for each invalid one."""
    tools: ToolSet | None
    """None if there are none, or they are invalid."""
    tools_json: Raw | None
    params: ChatParams
    problems: Problems
    depth: int
    origins: list[str] = msgspec.field(default_factory=list)
    """The origin of each message of the request, for errors."""
    said: list[wire.MessageWire] = msgspec.field(default_factory=list)
    """The new messages in effective order, without `instructions`."""

    @property
    def instructions(self) -> list[wire.MessageWire]:
        """The instructions at the start of the request."""
        return list(takewhile(_is_instruction, self.messages))

    @property
    def conversation_id(self) -> str | None:
        """The conversation that the request belongs to, if any."""
        name: str | None = self.fields.get("conversation_id")
        return name

    @property
    def messages(self) -> list[wire.MessageWire]:
        """The messages that the client sent."""
        return self.fields.get("messages") or []

    @property
    def results(self) -> list[wire.ToolResult]:
        """The tool results that the client sent separately."""
        return self.fields.get("tool_results") or []

    def request(self, earlier: Earlier) -> Request:
        """Build the request after the earlier conversation. Raises `InvalidRequest`."""
        messages = self._history(earlier)
        offered = earlier.tools if self.tools_json is None else self.tools
        model = self.fields.get("model") or earlier.model
        if not model and "model" not in self.fields:
            text = "Missing required parameter: 'model'."
            self.problems.add("model", text, "missing_required_parameter")
        choice = self._choice(offered)
        self.problems.check()
        tools = offered or NO_TOOLS
        stream = bool(self.fields.get("stream"))
        return Request(
            model=model,
            messages=messages,
            tools=tools,
            choice=choice,
            parallel=self.fields.get("parallel_tool_calls") is not False,
            stream=stream,
            include_usage=stream,
            sampling=self.params.sampling_params,
            response_format=self.params.response_format,
            extras=self.params.extras,
            ignored=tuple(self.params.unknown),
            repairs=tools.repairs,
            exact_calls=True,
        )

    def _history(self, earlier: Earlier) -> tuple[ChatMessage, ...]:
        if self.fields.get("messages", ()) is None:
            return ()  # further checks need them
        history = NativeHistory(
            earlier.ids, self.problems, self.depth, known_only=earlier.known_only
        )
        instructions = self.instructions
        for number, message in enumerate(instructions):
            history.add(message, f"messages[{number}]")
        before = [*(() if instructions else earlier.instructions), *earlier.messages]
        for number, message in enumerate(before):
            history.add(message, f"history[{number}]")
        for number, message in enumerate(self.messages[len(instructions) :], len(instructions)):
            history.add(message, f"messages[{number}]")
        history.add_results(self.results)
        self.origins = history.origins
        self.said = history.sources[len(instructions) + len(before) :]
        return tuple(history.messages)

    def _choice(self, tools: ToolSet | None) -> ToolChoice:
        choice = self.fields.get("tool_choice")
        if choice is None or choice == "auto" or tools is None:
            return FREE_CHOICE
        if choice == "none":
            return ToolChoice("none")
        if not tools.tools:
            text = "Invalid value for 'tool_choice': a call cannot be required without 'tools'."
            self.problems.add("tool_choice", text)
        if choice == "required":
            return ToolChoice("required")
        name = choice.function.name
        if tools.tools and name not in tools.tools:
            text = f"Invalid 'tool_choice.function.name': no tool has the name '{name[:100]}'."
            self.problems.add("tool_choice.function.name", text)
        return ToolChoice("required", frozenset({name}), named=True)


class NativeRequestReader(msgspec.Struct, frozen=True):
    """Decodes bodies. Holds the tool cache and the limits, but no state of requests."""

    tools: NativeToolReader
    max_messages: int
    max_values: int = MOST_VALUES
    bodies: RepeatedTools = msgspec.field(default_factory=RepeatedTools)

    @property
    def depth(self) -> int:
        """Maximum nesting of JSON."""
        return self.tools.cache.limits.depth

    def read(self, body: bytes) -> Incoming:
        """Decode one body. Raises `RequestError` if it is not a JSON object; collects the rest."""
        check_width(body, "", self.max_values)
        members = {name: raw for name, raw in self.bodies.members(body).items() if raw != _NULL}
        problems = Problems()
        names = [name for name in members if name in FIELDS and name != "tools"]
        fields = {name: read_value(name, bytes(members[name]), problems) for name in names}
        tools = self._tools(members.get("tools"), problems)
        rest = {name: raw for name, raw in members.items() if name not in FIELDS}
        params = self._params(rest, problems)
        self._check_messages(fields, problems)
        if (fields.get("conversation_id") or "").endswith("\n"):  # which a pattern does not see
            text = "Invalid 'conversation_id': it ends in a line break."
            problems.add("conversation_id", text)
        return Incoming(fields, tools, members.get("tools"), params, problems, self.depth)

    def _tools(self, raw: Raw | None, problems: Problems) -> ToolSet | None:
        if raw is None:
            return None
        try:
            return self.tools.read(raw)
        except RequestError as error:
            problems.take([error])
            return None

    def _params(self, members: dict[str, Raw], problems: Problems) -> ChatParams:
        for name, why in _REFUSED.items():
            raw = members.pop(name, None)
            if raw is not None and not (name == "n" and bytes(raw) == b"1"):
                problems.add(name, why, "unsupported_parameter")
        try:
            return read_params(members, self.depth)
        except RequestError:
            problems.take(_param_errors(members, self.depth))
            return ChatParams()

    def _check_messages(self, fields: dict[str, Any], problems: Problems) -> None:
        messages, results = fields.get("messages", ()), fields.get("tool_results", ())
        if messages is None or results is None:
            return  # already reported as invalid
        if not messages and not results:
            problems.add("messages", _NO_MESSAGE, "empty_array")
        if (many := len(messages) + len(results)) > self.max_messages:
            text = f"Invalid 'messages': there are {many}; at most {self.max_messages} are allowed."
            problems.add("messages", text, "array_above_max_length")


def _is_instruction(message: wire.MessageWire) -> bool:
    return isinstance(message, wire.SystemMessage | wire.DeveloperMessage)


def _param_errors(members: dict[str, Raw], depth: int) -> Iterator[RequestError]:
    """Yield the error of each invalid parameter."""
    for name, raw in members.items():
        beside = {"logprobs": members["logprobs"]} if "logprobs" in members else {}
        alone = {name: raw} if name != "top_logprobs" else {name: raw, **beside}
        try:
            read_params(alone, depth)
        except RequestError as error:
            yield error
