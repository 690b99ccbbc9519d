"""The native API without a socket: clients that record, a backend that says what it is told."""

import asyncio
import itertools
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.contract.chatting import Backend, Client, Recitation

from toolwire.backends.base import BackendRequest
from toolwire.backends.pool import BackendPool
from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.strategies.selection import Mode, StrategySelector
from toolwire.gateway.turn import TurnService
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.tool_cache import ToolCache
from toolwire.protocol.usage import TokenUsage
from toolwire.sessions.base import Store
from toolwire.sessions.memory import MemoryStore
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.native.call_map import CallMapSigner
from toolwire.surfaces.native.chat import NativeChat
from toolwire.surfaces.native.conversations import Conversations
from toolwire.surfaces.native.reader import NativeRequestReader
from toolwire.surfaces.native.session_turn import SessionRules, Sessions
from toolwire.surfaces.native.tools import NativeToolReader

CACHE = ToolCache(cache_bytes=1 << 20)
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
ASKED = {"role": "user", "content": "What is the weather in Paris?"}
TEXT = (Fragment(text="It rains.", finish="stop"), Fragment(usage=TokenUsage(7, 3)))


def calling(*calls: tuple[str, str, str], text: str = "") -> tuple[Fragment, ...]:
    """What a backend says that makes these calls: id, name, arguments."""
    made = tuple(CallFragment(at, *call) for at, call in enumerate(calls))
    usage = Fragment(usage=TokenUsage(7, 5))
    said = (Fragment(text=text),) if text else ()
    return (*said, Fragment(calls=made), Fragment(finish="tool_calls"), usage)


def weather_call(provider_id: str = "0", city: str = "Paris") -> tuple[Fragment, ...]:
    """A call of the tool."""
    return calling((provider_id, "get_weather", json.dumps({"city": city})))


@dataclass
class Scripted(Backend):
    """Says the next of its answers each time. An answer that is an error is raised."""

    answers: list[Sequence[Fragment] | GatewayError] = field(default_factory=list)
    before: Callable[[], Any] | None = None
    """Awaited while the backend is asked."""

    async def open(self, outgoing: BackendRequest) -> Recitation:
        self.opened.append(outgoing)
        if self.before is not None:
            await self.before()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, GatewayError):
            raise answer
        return Recitation([[fragment] for fragment in answer], self.done, self.error)


class Gateway:
    """One server, with one backend. `ask` and the others may be called again and again."""

    def __init__(
        self,
        *answers: Sequence[Fragment] | GatewayError,
        store: Store | None = None,
        rules: SessionRules | None = None,
        mode: Mode = "native",
        asks: int = 1,
        now: Callable[[], float] = lambda: 1_700_000_000.0,
    ) -> None:
        self.backend = Scripted(answers=list(answers or [TEXT]))
        self.store: Store = MemoryStore() if store is None else store
        self._settings = mode, asks
        tools = NativeToolReader(CACHE, 128)
        self.sessions = Sessions(self.store, rules or SessionRules(), now, tools.read)
        numbers = itertools.count(1)
        self._new_id = lambda prefix: f"{prefix}{next(numbers):032x}"
        self._reader = NativeRequestReader(tools, 1000)
        self._now = now
        self.signer = CallMapSigner(b"secret")
        self.run: Callable[[Coroutine[Any, Any, Any]], Any] = asyncio.run

    def say(self, *answers: Sequence[Fragment] | GatewayError) -> None:
        """Let the backend say these next."""
        self.backend.answers = list(answers)

    @property
    def asked(self) -> list[BackendRequest]:
        """What the backend was asked."""
        return self.backend.opened

    async def asking(self, body: Any, *, key: str | None = None, **headers: str) -> Client:
        """Send a request."""
        mode, asks = self._settings
        pool = BackendPool([self.backend], asyncio.get_running_loop().time)
        turns = TurnService(
            routes=Routes([ServedModel("*", pool, strategies=StrategySelector(mode, "hermes"))]),
            limits=TurnLimits(attempts=1, asks=asks),
            repair_history=False,
            new_call_id=lambda: self._new_id("call_"),
            now=self._now,
        )
        chat = NativeChat(self._reader, turns, self.sessions, self.signer, self._new_id, self._now)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-").encode(): v.encode() for name, v in headers.items()}
        client = Client(HttpRequest("POST", b"/native/v1/chat", named, raw))
        await chat.answer(client, RequestContext("req_1", key_name=key))
        return client

    def ask(self, body: Any, *, key: str | None = None, **headers: str) -> Client:
        """Send a request."""
        client: Client = self.run(self.asking(body, key=key, **headers))
        return client

    def kept(self, method: str, path: str = "", *, key: str | None = None) -> Client:
        """Ask for conversations."""
        target = f"/native/v1/conversations{path}".encode()
        client = Client(HttpRequest("GET", target))
        found = Conversations(self.sessions)
        try:
            handler = getattr(found, method)
            self.run(handler(client, RequestContext("req_1", key_name=key)))
        except GatewayError as error:
            client.respond(error.status, [], json.dumps({"code": error.code}).encode())
        return client


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    """A request with the tool."""
    return {"model": "m", "messages": list(messages or [ASKED]), "tools": [WEATHER], **fields}


def events(client: Client) -> list[Any]:
    """The events of a stream."""
    blocks = client.written.decode().split("\n\n")[:-1]
    pairs = [block.removeprefix("event: ").split("\ndata: ", 1) for block in blocks]
    made = [(kind, json.loads(data)) for kind, data in pairs]
    assert all(kind == data["type"] for kind, data in made)
    return [data for _, data in made]


def call_of(client: Client, at: int = 0) -> Any:
    """A call of a whole answer."""
    return client.json["choices"][0]["message"]["tool_calls"][at]
