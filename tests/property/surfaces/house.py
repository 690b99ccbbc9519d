"""The whole application without a socket, in front of a backend that recites."""

import asyncio
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from unittest.mock import patch

from msgspec import structs
from tests.contract.chatting import Backend, Client
from tests.property.surfaces.doors import DOORS, Answer, Door, Json, events_of

from toolwire.backends.base import BackendRequest
from toolwire.backends.pool import BackendPool
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.strategies.selection import Mode, StrategySelector
from toolwire.gateway.tool_limits import ToolLimiter, ToolLimits
from toolwire.protocol.fragments import Fragment
from toolwire.server.app import App
from toolwire.server.config.settings import BackendConfig, Config, RouteConfig
from toolwire.server.telemetry.logs import Logs
from toolwire.server.telemetry.redact import Redactor
from toolwire.surfaces.exchange import HttpRequest


@cache
def _runner() -> asyncio.Runner:
    """One event loop for all turns: making one takes longer than a turn."""
    return asyncio.Runner()


@dataclass
class House:
    """An application that serves a model in this mode and format."""

    mode: Mode
    format: str | None = None
    backend: Backend = field(default_factory=Backend)
    limits: ToolLimits | None = None

    def __post_init__(self) -> None:
        pool = BackendPool([self.backend], lambda: 0.0)
        limiter = None if self.limits is None else ToolLimiter(self.limits)
        self.model = ServedModel("m", pool, tool_limiter=limiter)
        routes = Routes([self.model])
        config = Config(
            models=(RouteConfig("m", (BackendConfig(name="backend", url="http://127.0.0.1:9"),)),)
        )
        logs = Logs(level=50, as_json=False, redactor=Redactor(), stream=io.StringIO())
        with patch("toolwire.server.services.build_routes", return_value=routes):
            self.app = App(config, logs, clock=lambda: 0.0)

    def ask(
        self,
        door: Door,
        said: Sequence[Fragment],
        tools: Sequence[Json],
        history: Sequence[Json],
        *,
        stream: bool,
    ) -> Answer:
        """The answer of a model that says this, through a door."""
        body = door.body("m", tools, history)
        client = self.sent(door.path, {**body, "stream": stream}, said)
        assert client.status == 200, client.written
        if stream:
            return door.streamed(list(events_of(client.written)))
        return door.whole(client.json)

    def sent(self, path: str, body: Json, said: Sequence[Fragment] = ()) -> Client:
        """One request, to a model that says this."""
        self.backend.blocks = [[fragment] for fragment in said]
        self.backend.opened.clear()
        # What one turn teaches is not to change the next.
        fresh = StrategySelector(self.mode, self.format)
        structs.force_setattr(self.model, "strategies", fresh)
        raw = json.dumps({name: value for name, value in body.items() if value is not None})
        head = {b"content-type": b"application/json"}
        client = Client(HttpRequest("POST", path.encode(), head, raw.encode()))
        _runner().run(self._answer(client))
        return client

    async def _answer(self, client: Client) -> None:
        await self.app(client)

    @property
    def outgoing(self) -> BackendRequest:
        """What the backend was asked at last."""
        return self.backend.opened[-1]

    def serves(self, door: Door) -> bool:
        """Whether there is something behind this door."""
        return self.app._router.find(door.path) is not None


OPEN_DOORS = [name for name, door in DOORS.items() if House("native").serves(door)]
"""The surfaces that are served."""
