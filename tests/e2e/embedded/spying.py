"""An engine that remembers what it said, and requests for it."""

import json
from concurrent.futures import Future
from typing import Any

from toolwire.backends.base import Outgoing
from toolwire.backends.embedded_engine import Engine, Take
from toolwire.protocol.chat import NO_TOOLS, Message, Request


class SpyEngine(Engine):
    """A real engine. `turns` are the turns it was asked for, `chunks` what each has said."""

    def submit(self, body: bytes, take: Take) -> "Future[None]":
        """See `Engine.submit`."""
        chunks: list[dict[str, Any]] = []

        def spy(chunk: bytes) -> bool:
            chunks.append(json.loads(chunk))
            return take(chunk)

        turn = super().submit(body, spy)
        self.turns.append((turn, chunks))
        return turn

    @property
    def turns(self) -> list[tuple["Future[None]", list[dict[str, Any]]]]:
        """The turns since the last `forget`, and what was said in each."""
        return self.__dict__.setdefault("_spied", [])  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Start over."""
        self.turns.clear()


def ask(text: str, **params: Any) -> Outgoing:
    """A request with one message."""
    encoded = {name: json.dumps(value).encode() for name, value in params.items()}
    messages = (Message("user", text),)
    return Outgoing(Request("tiny", messages, params=encoded), messages, NO_TOOLS)
