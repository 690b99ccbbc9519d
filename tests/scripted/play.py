"""Plays one request without a server, for tests that look at a reply as a value."""

import json
import time
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tests.scripted.chunks import Chunk, call_deltas, deltas
from tests.scripted.record import Recorded
from tests.scripted.reply import Reply
from tests.scripted.routes import answer_request
from tests.scripted.stage import Stage
from tests.scripted.variants import VARIANTS

KEY = "sk-presented"


def play(stage: Stage, path: str = "/v1/chat/completions", **body: Any) -> Reply:
    """Give the reply that a POST of this body would get."""
    headers = {"authorization": f"Bearer {KEY}"}
    data = json.dumps(body).encode()
    return answer_request(stage, Recorded("POST", path, headers, data, time.monotonic()))


def play_stream(variant: str, script: Any, **body: Any) -> Reply:
    """Play a streamed chat turn that asks for usage."""
    options = {"stream": True, "stream_options": {"include_usage": True}}
    messages = [{"role": "user", "content": "Go on."}]
    return play(Stage(variant, script), **{"messages": messages, **options, **body})


def play_whole(variant: str, script: Any, **body: Any) -> Reply:
    """Play a chat turn that is not streamed."""
    messages = [{"role": "user", "content": "Go on."}]
    return play(Stage(variant, script), **{"messages": messages, **body})


@dataclass(frozen=True)
class Seen:
    """What a reader finds in a stream of chunks."""

    chunks: list[Chunk]

    @property
    def choices(self) -> list[Chunk]:
        return [choice for chunk in self.chunks for choice in chunk["choices"]]

    @property
    def deltas(self) -> list[Chunk]:
        return list(deltas(self.chunks))

    @property
    def calls(self) -> list[Chunk]:
        return list(call_deltas(self.chunks))

    @property
    def functions(self) -> list[Chunk]:
        return [call["function"] for call in self.calls]

    @property
    def finishes(self) -> list[str]:
        return [choice["finish_reason"] for choice in self.choices if choice.get("finish_reason")]

    @property
    def text(self) -> str:
        return "".join(delta.get("content") or "" for delta in self.deltas)


def read_stream(reply: Reply) -> Seen:
    """Decode the events of a stream."""
    return Seen([json.loads(data) for data in events_of(reply) if data != "[DONE]"])


def events_of(reply: Reply) -> list[str]:
    """The data of every event of a stream, as any SSE reader sees it."""
    text = reply.body.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    blocks = [block.split("\n") for block in text.split("\n\n") if block]
    datas = [[line for line in block if line.startswith("data:")] for block in blocks]
    return ["\n".join(line[5:].removeprefix(" ") for line in data) for data in datas if data]


def names_in(module: ModuleType) -> set[str]:
    """The variants that a module adds to the table."""
    return {name for name, kind in VARIANTS.items() if kind.__module__ == module.__name__}
