"""Decodes a request body into `ParsedMessagesRequest`: the request, and what the answer needs.

Anything that can be ignored is accepted: agents send new fields every month, and retry a refused
request several times with fewer features.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw

from toolwire.errors import RequestError
from toolwire.protocol.effort import EFFORTS, effort_of_budget
from toolwire.protocol.json_limits import check_width
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.sampling import ResponseFormat, SamplingParams
from toolwire.surfaces.explain import why_not_json
from toolwire.surfaces.json_schema import answer_schema_fault
from toolwire.surfaces.messages.conversation import ConversationBuilder, WireMessage
from toolwire.surfaces.messages.notes import Notes, Rule, invalid
from toolwire.surfaces.messages.own_form import with_own_form
from toolwire.surfaces.messages.tools import MessagesToolReader, read_choice
from toolwire.surfaces.repeated_tools import RepeatedTools

T = TypeVar("T")

Fields: TypeAlias = dict[str, Raw]

FIELDS: Mapping[str, Rule] = {
    "model": Rule("honoured", "Selects the route. The answer repeats it."),
    "messages": Rule("honoured", "See below. A last message of the assistant is refused."),
    "system": Rule(
        "honoured", "Text blocks are joined with blank lines; the billing line is left out."
    ),
    "max_tokens": Rule(
        "honoured",
        "Lowered to what fits, once the backend has said what does. 0: an empty answer; only a "
        "backend with the same API is asked, so that it reads the prompt into its cache.",
    ),
    "stream": Rule("honoured", ""),
    "stop_sequences": Rule(
        "honoured",
        "Up to 64 of at most 256 characters. Backends that take four get the first four, and "
        "Toolwire watches for the others.",
    ),
    "temperature": Rule("honoured", ""),
    "top_p": Rule("honoured", ""),
    "top_k": Rule("honoured", "By backends that have it."),
    "tools": Rule("honoured", "See below."),
    "tool_choice": Rule(
        "translated",
        "`any` requires a call, `tool` one of that name; `disable_parallel_tool_use` holds.",
    ),
    "thinking": Rule(
        "translated",
        "Switched on or off for vLLM, SGLang, llama.cpp, LMDeploy and backends with a "
        "`chat_template`, only off for Ollama, DeepSeek and Moonshot, and reported as ignored for "
        "others. `budget_tokens` becomes an effort. Thinking is shown unless it is absent or "
        "`disabled`; `display` is ignored.",
    ),
    "output_config": Rule(
        "translated",
        "`effort` becomes `reasoning_effort`, with the nearest level that the backend knows; "
        "`format` a JSON Schema of the text.",
    ),
    "output_format": Rule("translated", "The earlier name of `output_config.format`."),
    "metadata": Rule("translated", "`user_id` becomes `user`, hashed if it is long."),
    "service_tier": Rule("ignored", ""),
    "speed": Rule("ignored", ""),
    "inference_geo": Rule("ignored", ""),
    "container": Rule("ignored", ""),
    "diagnostics": Rule("ignored", ""),
    "user_profile_id": Rule("ignored", ""),
    "workspace_id": Rule("ignored", ""),
    "cache_control": Rule("ignored", "Backends cache prompts by themselves."),
    "fallbacks": Rule("ignored", ""),
    "fallback_credit_token": Rule("ignored", ""),
    "context_management": Rule("ignored", "Nothing is cleared from the conversation."),
    "mcp_servers": Rule("ignored", "The server would have to call them."),
    "thread": Rule(
        "refused", "With the error that makes SDKs send the whole conversation instead."
    ),
    "compaction": Rule("refused", "It asks for something else than an answer."),
    "other fields": Rule("ignored", ""),
}
"""Every request field, and how it is handled."""

_MOST_STOPS = 64
_LONGEST_STOP = 256
_LONGEST_USER = 64
_MOST_FIELDS = 1000
_SHOWN = ("enabled", "adaptive", "between_tools")
_NULL = Raw(b"null")
_NO_HEADERS: Mapping[str, str] = {}

_Tokens = Annotated[int, Meta(ge=0)]


class _Thinking(msgspec.Struct):
    type: str
    budget_tokens: int | None = None
    display: str | None = None


class _Format(msgspec.Struct):
    type: str
    schema: dict[str, Any] | None = None


class _OutputConfig(msgspec.Struct):
    effort: str | None = None
    format: _Format | None = None


class _Metadata(msgspec.Struct):
    user_id: str | None = None


_body = msgspec.json.Decoder(dict[str, Raw])
_messages = msgspec.json.Decoder(Annotated[list[WireMessage], Meta(min_length=1)])
_any = msgspec.json.Decoder()
_str = msgspec.json.Decoder(Annotated[str, Meta(min_length=1, max_length=256)])
_bool = msgspec.json.Decoder(bool)
_tokens = msgspec.json.Decoder(_Tokens)
_stops = msgspec.json.Decoder(list[str])
_thinking = msgspec.json.Decoder(_Thinking)
_output_config = msgspec.json.Decoder(_OutputConfig)
_format = msgspec.json.Decoder(_Format)
_metadata = msgspec.json.Decoder(_Metadata)
_NUMBERS: dict[str, "msgspec.json.Decoder[Any]"] = {
    "temperature": msgspec.json.Decoder(Annotated[float, Meta(ge=0, le=2)]),
    "top_p": msgspec.json.Decoder(Annotated[float, Meta(ge=0, le=1)]),
}
_top_k = msgspec.json.Decoder(int)
_READ = frozenset(n for n, rule in FIELDS.items() if rule.treatment in ("honoured", "translated"))


class ThreadUnsupported(RequestError):
    """Conversations are not stored. SDKs that recognize this code send the whole conversation."""

    code = "thread_unsupported_request"

    def __init__(self) -> None:
        super().__init__(
            "thread: this server keeps no threads. Send the whole conversation without 'thread'.",
            param="thread",
        )


class ParsedMessagesRequest(msgspec.Struct, frozen=True):
    """A decoded request."""

    request: Request
    origins: tuple[int, ...] = ()
    """The index of the client's message for each message of the request."""
    shows_thinking: bool = False
    fills_context: bool = False
    """Whether `max_tokens` was lowered to the rest of the context."""


class MessagesReader(msgspec.Struct, frozen=True):
    """Decodes bodies. Holds the tool cache and the limits, but no state of requests."""

    tools: MessagesToolReader
    max_messages: int
    max_values: int
    bodies: RepeatedTools = msgspec.field(default_factory=lambda: RepeatedTools(read=_split))

    def read(
        self, body: bytes, headers: Mapping[str, str] = _NO_HEADERS, *, counting: bool = False
    ) -> ParsedMessagesRequest:
        """Decode one body; token counting requires fewer fields. `headers` are those that a backend
        of the same API gets. Raises `RequestError`."""
        check_width(body, "", self.max_values)
        fields, notes = self.bodies.members(body), Notes()
        _refuse(fields)
        conversation = ConversationBuilder(notes)
        messages = self._messages(fields, conversation, counting=counting)
        toolset = self.tools.read(fields.get("tools"), conversation)
        choice, parallel = read_choice(fields.get("tool_choice"), toolset, notes)
        params = _Params(fields, notes)
        sampling, extras = params.sampling(counting=counting), params.extras()
        for name in fields.keys() - _READ:
            notes.ignore(name)
        request = Request(
            model=_value(fields, "model", _str),
            messages=messages,
            tools=toolset,
            choice=choice,
            parallel=parallel,
            stream="stream" in fields and _value(fields, "stream", _bool),
            include_usage=True,
            sampling=sampling,
            response_format=params.response_format(),
            extras=extras,
            ignored=tuple(notes.ignored),
            adjusted=tuple(notes.adjusted),
            repairs=(*toolset.repairs, *notes.repairs),
        )
        request = with_own_form(request, fields, headers, notes)
        return ParsedMessagesRequest(request, tuple(conversation.origins), params.shows_thinking)

    def _messages(
        self, fields: Fields, conversation: ConversationBuilder, *, counting: bool
    ) -> tuple[ChatMessage, ...]:
        wire = _value(fields, "messages", _messages)
        if len(wire) > self.max_messages:
            raise invalid("messages", f"List should have at most {self.max_messages} items")
        if wire[-1].role == "assistant" and not counting:
            raise invalid(
                f"messages.{len(wire) - 1}",
                "This model does not support assistant message prefill. "
                "The conversation must end with a user message.",
            )
        system = _decoded(_any, fields["system"], "system") if "system" in fields else None
        return conversation.read(system, wire)


def _split(body: bytes) -> Fields:
    """Return the top-level fields as raw JSON. `null` means "not given"."""
    try:
        if not body.isascii():
            body.decode()
        fields = _body.decode(body)
    except msgspec.ValidationError:
        raise RequestError("The body must be a JSON object.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = why_not_json(error, body)
        raise RequestError(f"The request body is not valid JSON: {why}") from None
    if len(fields) > _MOST_FIELDS:
        raise RequestError(f"The body has more than {_MOST_FIELDS} fields.")
    return {name: raw for name, raw in fields.items() if raw != _NULL}


def _refuse(fields: Fields) -> None:
    """Refuse fields that cannot be ignored without changing the meaning of the request."""
    if "thread" in fields:
        raise ThreadUnsupported
    if "compaction" in fields:
        raise invalid("compaction", "This server does not summarize conversations")


def _value(fields: Fields, name: str, decoder: "msgspec.json.Decoder[T]") -> T:
    if name not in fields:
        raise invalid(name, "Field required")
    return _decoded(decoder, fields[name], name)


def _decoded(decoder: "msgspec.json.Decoder[T]", raw: Raw, name: str) -> T:
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        place = path.rstrip("`").replace("[", ".").replace("]", "")
        raise invalid(name + place, what.replace("`", "'")) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid(name, f"Not valid JSON: {error}") from None


class _Params:
    """The fields other than the conversation and its tools."""

    def __init__(self, fields: Fields, notes: Notes) -> None:
        self._fields = fields
        self._notes = notes
        self._thinking = self._get("thinking", _thinking)
        self._output = self._get("output_config", _output_config) or _OutputConfig()

    def _get(self, name: str, decoder: "msgspec.json.Decoder[T]") -> T | None:
        return _decoded(decoder, self._fields[name], name) if name in self._fields else None

    @property
    def shows_thinking(self) -> bool:
        """Whether the client expects thinking."""
        return self._thinking is not None and self._thinking.type in _SHOWN

    def sampling(self, *, counting: bool) -> SamplingParams:
        """Return the parameters that every backend supports."""
        given = dict.fromkeys(self._get("stop_sequences", _stops) or ())
        stops = tuple(stop for stop in given if 0 < len(stop) <= _LONGEST_STOP)[:_MOST_STOPS]
        if len(stops) < len(given):
            self._notes.adjust("stop_sequences")
        limit = None if counting else _value(self._fields, "max_tokens", _tokens)
        numbers = {name: self._get(name, decoder) for name, decoder in _NUMBERS.items()}
        return SamplingParams(
            max_tokens=limit,
            stop=stops,
            reasoning_effort=self._effort(),
            thinking=None if self._thinking is None else self.shows_thinking,
            **numbers,
        )

    def _effort(self) -> str | None:
        asked = self._output.effort
        if asked is not None and asked not in EFFORTS:
            self._notes.ignore("output_config.effort")
        elif asked is not None:
            return asked
        budget = self._thinking.budget_tokens if self._thinking is not None else None
        return None if budget is None or not self.shows_thinking else effort_of_budget(budget)

    def extras(self) -> dict[str, bytes]:
        """Return the parameters that only some backends support, under their names."""
        extras: dict[str, bytes] = {}
        if (top_k := self._get("top_k", _top_k)) is not None:
            extras["top_k"] = msgspec.json.encode(top_k)
        metadata = self._get("metadata", _metadata)
        if metadata is not None and metadata.user_id:
            extras["user"] = msgspec.json.encode(_user(metadata.user_id))
        if self._thinking is not None and self._thinking.display == "omitted":
            self._notes.ignore("thinking.display")
        return extras

    def response_format(self) -> ResponseFormat | None:
        """Return the requested response format. Raises `RequestError`."""
        wanted, where = self._output.format, "output_config.format"
        if wanted is None:
            wanted, where = self._get("output_format", _format), "output_format"
        if wanted is None:
            return None
        if wanted.type != "json_schema" or wanted.schema is None:
            raise invalid(where, "Only 'json_schema' with a 'schema' is supported")
        if why := answer_schema_fault(wanted.schema):
            raise invalid(f"{where}.schema", why)
        return ResponseFormat("json_schema", msgspec.json.encode(wanted.schema))


def _user(name: str) -> str:
    """Return a user name that every backend accepts: agents send a JSON object as text."""
    if len(name) <= _LONGEST_USER:
        return name
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
