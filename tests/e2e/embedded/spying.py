"""An engine that remembers what it said, and requests for it."""

import json
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tests.asking import asking

from toolwire.backends.base import BackendRequest
from toolwire.backends.embedded.engine import EmbeddedEngine, EngineSettings, Take
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import NO_TOOLS


class SpyEngine(EmbeddedEngine):
    """A real engine. `turns` are the turns since the last `forget`, and what was said in each."""

    def __init__(self, settings: EngineSettings) -> None:
        super().__init__(settings)
        self.turns: list[tuple[Future[None], list[dict[str, Any]]]] = []
        self._saying: list[dict[str, Any]] = []

    def submit(self, work: Callable[[EmbeddedEngine], None]) -> "Future[None]":
        """See `EmbeddedEngine.submit`."""
        said: list[dict[str, Any]] = []

        def spied(engine: EmbeddedEngine) -> None:
            self._saying = said
            work(engine)

        turn = super().submit(spied)
        self.turns.append((turn, said))
        return turn

    def generate(self, body: bytes, take: Take) -> None:
        """See `EmbeddedEngine.generate`."""

        def spy(chunk: bytes) -> bool:
            self._saying.append(json.loads(chunk))
            return take(chunk)

        super().generate(body, spy)

    def forget(self) -> None:
        """Start over."""
        self.turns.clear()


def ask(text: str, **params: Any) -> BackendRequest:
    """A request with one message."""
    encoded = {name: json.dumps(value).encode() for name, value in params.items()}
    messages = (ChatMessage("user", text),)
    return BackendRequest(asking(messages, encoded), messages, NO_TOOLS)
