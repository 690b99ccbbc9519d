"""The whole OpenAI surface without a socket: a client that only records, a backend that recites."""

import asyncio
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.contract.wire import READER, shown

from toolwire.backends.base import (
    DEFAULT_TIMEOUTS,
    UNKNOWN,
    BackendRequest,
    BackendTimeouts,
    Capabilities,
    FragmentListener,
)
from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.backends.openai.params import wire_params
from toolwire.backends.pool import BackendPool
from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.strategies.selection import Mode, StrategySelector
from toolwire.gateway.token_count import TokenCounter
from toolwire.gateway.tool_limits import ToolLimiter
from toolwire.gateway.turn import TurnService
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.requests import Request
from toolwire.surfaces.exchange import Headers, HttpRequest
from toolwire.surfaces.openai.chat import OpenAiChat


@dataclass
class Client:
    """One exchange, written down."""

    request: HttpRequest
    started: bool = False
    gone: bool = False
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    written: bytes = b""
    ended: bool = False
    aborted: bool = False
    asked: list[BackendRequest] = field(default_factory=list)
    """What the backend was asked."""

    def start(self, status: int, headers: Headers) -> None:
        assert not self.started
        self.started, self.status, self.headers = True, status, dict(headers)
        assert len(self.headers) == len(headers), "a header is sent twice"

    def write(self, data: bytes) -> None:
        assert self.started
        assert not self.ended
        self.written += data

    def end(self, last: bytes = b"") -> None:
        self.write(last)
        self.ended = True

    def abort(self) -> None:
        self.aborted = True

    def respond(self, status: int, headers: Headers, body: bytes) -> None:
        self.start(status, headers)
        self.write(body)
        self.end()

    def on_flow(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """Always keeps up."""

    @property
    def sent(self) -> int:
        """How much of the body was sent."""
        return len(self.written)

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.written)

    @property
    def events(self) -> list[Any]:
        """The data of each event of a stream; `[DONE]` as it is."""
        data = [part.removeprefix("data: ") for part in self.written.decode().split("\n\n")[:-1]]
        return [text if text == "[DONE]" else json.loads(text) for text in data]

    @property
    def chunks(self) -> list[Any]:
        """The events of a stream that ended as it should, without `[DONE]`."""
        *chunks, done = self.events
        assert done == "[DONE]"
        assert self.ended
        return chunks


@dataclass
class Recitation:
    """A backend's answer that is known beforehand: a list of blocks, each a list of fragments."""

    blocks: Sequence[Sequence[Fragment]]
    done: bool
    error: GatewayError | None

    async def relay(self, listener: FragmentListener) -> bool:
        for block in self.blocks:
            listener(list(block))
        if self.error is not None:
            raise self.error
        return self.done

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class Backend:
    """Says what it is told, and remembers what it was asked."""

    blocks: Sequence[Sequence[Fragment]] = ()
    done: bool = True
    error: GatewayError | None = None
    refusal: GatewayError | None = None
    unsupported: frozenset[str] = frozenset()
    name: str = "backend"
    timeouts: BackendTimeouts = DEFAULT_TIMEOUTS
    capabilities: Capabilities = UNKNOWN
    needs_probe: bool = False
    opened: list[BackendRequest] = field(default_factory=list)

    def ignored(self, request: Request) -> list[str]:
        return [name for name in wire_params(request) if name in self.unsupported]

    async def open(self, outgoing: BackendRequest) -> Recitation:
        self.opened.append(outgoing)
        if self.refusal is not None:
            raise self.refusal
        return Recitation(self.blocks, self.done, self.error)


def speaking(*fragments: Fragment, **more: Any) -> Backend:
    """A backend that says these fragments, each in a read of its own."""
    return Backend([[fragment] for fragment in fragments], **more)


def streaming(*chunks: Any) -> Backend:
    """A backend whose answer is decoded from these chunks, as an event stream."""
    stream = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    return decoding([stream + b"data: [DONE]\n\n"], streamed=True)


def decoding(blocks: Iterable[bytes], *, streamed: bool) -> Backend:
    """A backend whose answer is decoded from these bytes."""
    decoder = AnswerDecoder(streamed=streamed, max_line=1 << 20)
    fragments = [decoder.feed(block) for block in blocks]
    fragments.append(decoder.finish())
    return Backend(fragments, done=decoder.done)


def chat(
    raw: bytes,
    backend: Backend | None = None,
    *,
    headers: dict[bytes, bytes] | None = None,
    **settings: Any,
) -> Client:
    """Send one body through the surface; what the client sees of it."""
    client = Client(HttpRequest("POST", b"/v1/chat/completions", headers or {}, raw))
    backend = backend or Backend()
    asyncio.run(_answer(client, backend, **settings))
    client.asked = backend.opened
    return client


async def _answer(
    client: Client,
    backend: Backend,
    *,
    served: str = "*",
    custom_tools: bool = False,
    repair_history: bool = False,
    mode: Mode = "native",
    asks: int = 1,
    tokens: TokenCounter | None = None,
    tool_limiter: ToolLimiter | None = None,
) -> None:
    pool = BackendPool([backend], asyncio.get_running_loop().time)
    numbers = itertools.count()

    def new_id(prefix: str) -> str:
        return f"{prefix}{next(numbers):032x}"

    strategies = StrategySelector(mode)
    model = ServedModel(
        served,
        pool,
        custom_tools=custom_tools,
        strategies=strategies,
        tokens=tokens,
        tool_limiter=tool_limiter,
    )
    turns = TurnService(
        routes=Routes([model]),
        limits=TurnLimits(attempts=1, asks=asks),
        repair_history=repair_history,
        new_call_id=lambda: new_id("call_"),
        now=lambda: 1_700_000_000.9,
    )
    surface = OpenAiChat(READER, turns, new_id, turns.now)
    try:
        await surface.answer(client, RequestContext("req_1"))
    except GatewayError as error:
        # What the application does with an error before anything was sent.
        client.status = error.status
        client.written = json.dumps({"error": shown(error)}).encode()
