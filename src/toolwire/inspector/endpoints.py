"""The JSON that the inspector's page asks for."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs

import msgspec
from msgspec.structs import replace

from toolwire import __version__
from toolwire.errors import RequestError, ResourceNotFound
from toolwire.formats.tools.given_tools import InvalidTool, tools_of
from toolwire.gateway.context import RequestContext
from toolwire.gateway.repair.costly import Checker
from toolwire.gateway.turn import off_loop
from toolwire.inspector import paths
from toolwire.inspector.case import case_file
from toolwire.inspector.page import Handler
from toolwire.inspector.reading import AUTO, MOST_CHARACTERS, read_text
from toolwire.inspector.replaying import replayed
from toolwire.inspector.samples import formats, samples_of
from toolwire.inspector.trying import turns_by_mode
from toolwire.inspector.turns import Traces, TurnLog
from toolwire.protocol.json_limits import MOST_VALUES, check_width
from toolwire.protocol.tools import ToolSpec
from toolwire.surfaces.base import send_json
from toolwire.surfaces.exchange import Exchange
from toolwire.surfaces.openai.chat import OpenAiChat

T = TypeVar("T")

_MOST_TOOLS = 512
"""To look for the names of thousands in every format takes minutes."""


class ParseRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A text to parse. `tools` is any JSON that contains tools."""

    text: Annotated[str, msgspec.Meta(max_length=MOST_CHARACTERS)]
    format: str = AUTO
    tools: Any = None
    chunk_size: Annotated[int, msgspec.Meta(ge=1)] = 4
    name: str = ""

    def declared(self) -> tuple[ToolSpec, ...]:
        """Return the tools."""
        try:
            tools = tools_of(self.tools) if self.tools else ()
        except InvalidTool as error:
            raise RequestError(f"The tools cannot be used: {error}.", param="tools") from None
        if len(tools) > _MOST_TOOLS:
            text = f"There are {len(tools)} tools. At most {_MOST_TOOLS} can be tried."
            raise RequestError(text, param="tools")
        return tools


class Which(msgspec.Struct, forbid_unknown_fields=True):
    """The id of a recorded request."""

    id: str


class Inspector(msgspec.Struct, frozen=True):
    """Answers the page's requests."""

    turns: TurnLog
    checker: Checker
    about: dict[str, Any]
    alone: asyncio.Semaphore = msgspec.field(default_factory=partial(asyncio.Semaphore, 1))
    """Reading a long text takes a second of CPU: one at a time, so that turns are not held up."""

    async def info(self, exchange: Exchange, context: RequestContext) -> None:
        """Send the settings of the page."""
        _send(exchange, context, {**self.about, "key": context.key_name, "formats": formats()})

    async def samples(self, exchange: Exchange, context: RequestContext) -> None:
        """Send sample texts of a format."""
        name = _query(exchange, "format")
        _send(exchange, context, {"samples": await self._read(partial(samples_of, name))})

    async def parse(self, exchange: Exchange, context: RequestContext) -> None:
        """Parse a text."""
        wanted, tools = await _parse_request(exchange)
        how = wanted.format, wanted.text, tools
        read = await self._read(partial(read_text, *how, size=wanted.chunk_size))
        _send(exchange, context, read)

    async def case(self, exchange: Exchange, context: RequestContext) -> None:
        """Send a text and its calls as a conformance case."""
        wanted, tools = await _parse_request(exchange)
        how = wanted.format, wanted.text, tools
        _send(exchange, context, await self._read(partial(case_file, *how, called=wanted.name)))

    async def list_turns(self, exchange: Exchange, context: RequestContext) -> None:
        """List the latest requests, and trace new ones for a while."""
        self.turns.traces.watch()
        lines = await asyncio.to_thread(self.turns.list, context.key_name)
        _send(exchange, context, {"turns": lines})

    async def show_turn(self, exchange: Exchange, context: RequestContext) -> None:
        """Send the trace of a request."""
        record = await self._record(_query(exchange, "id"), context)
        _send(exchange, context, record)

    async def replay(self, exchange: Exchange, context: RequestContext) -> None:
        """Replay a request with the current code."""
        record = await self._record(_decoded(exchange.request.body, Which).id, context)
        _send(exchange, context, {"differences": await replayed(record, self.checker)})

    async def _read(self, read: Callable[[], Any]) -> Any:
        """Parse the text off the event loop. Raises `RequestError` if the format is unknown."""
        try:
            async with self.alone:
                return await asyncio.to_thread(read)
        except KeyError as error:
            raise RequestError(f"{error.args[0]}.", param="format") from None

    async def _record(self, request_id: str, context: RequestContext) -> dict[str, Any]:
        record = await asyncio.to_thread(self.turns.find, request_id, context.key_name)
        if record is None:
            raise ResourceNotFound(f"There is no trace of a request '{request_id[:100]}'.")
        return record


def inspector_endpoints(
    chat: OpenAiChat,
    traces: Traces,
    checker: Checker,
    *,
    bodies: bool,
    lasting: bool,
    sees_all: Callable[[str | None], bool],
) -> dict[str, Handler]:
    """What answers each path of `paths.METHODS`. `lasting`: every request is traced, not only
    while somebody looks; `bodies`: with what clients and models wrote."""
    about = {"version": __version__, "bodies": bodies, "lasting": lasting}
    inspector = Inspector(TurnLog(traces, sees_all), checker, about)
    return {
        paths.INFO: inspector.info,
        paths.SAMPLES: inspector.samples,
        paths.PARSE: inspector.parse,
        paths.CASE: inspector.case,
        paths.POLLED: inspector.list_turns,
        paths.TURN: inspector.show_turn,
        paths.REPLAY: inspector.replay,
        **{
            paths.TRIALS[mode]: replace(chat, turns=forced).answer
            for mode, forced in turns_by_mode(chat.turns).items()
        },
    }


def _send(exchange: Exchange, context: RequestContext, value: Any) -> None:
    send_json(exchange, context, value, ("cache-control", "no-store"))


async def _parse_request(exchange: Exchange) -> tuple[ParseRequest, tuple[ToolSpec, ...]]:
    """Decode a text and its tools: in a thread if they are large."""

    def read(body: bytes) -> tuple[ParseRequest, tuple[ToolSpec, ...]]:
        wanted = _decoded(body, ParseRequest)
        return wanted, wanted.declared()

    body = exchange.request.body
    return await off_loop(len(body), read, body)


def _decoded(body: bytes, kind: type[T]) -> T:
    check_width(body, "", MOST_VALUES)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"The body cannot be used: {error}.") from None


def _query(exchange: Exchange, name: str) -> str:
    query = exchange.request.target.partition(b"?")[2].decode("latin-1")
    return parse_qs(query).get(name, [""])[0]
