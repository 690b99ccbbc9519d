"""What a variant is: a few hooks, from the request to the connection, each the identity here.

A subclass overrides what is odd about it, and its docstring says so in one line. Subclassing
with a name enters it in the table; `NAME:ARG` gives it a parameter, `A+B` chains several.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

from tests.scripted.answer import Answer
from tests.scripted.chunks import Chunk
from tests.scripted.record import Recorded
from tests.scripted.reply import Reply
from tests.scripted.request import ChatRequest

VARIANTS: dict[str, type["Variant"]] = {}


@dataclass(frozen=True)
class Exchange:
    """One POST: the request, and the how many-eth it is since the variant was set, from 1."""

    request: Recorded
    number: int

    @property
    def key(self) -> str:
        """The API key that was presented."""
        return self.request.headers.get("authorization", "").removeprefix("Bearer ")


class Variant:
    """The hooks. One instance lives as long as the variant is set."""

    default_arg: ClassVar[str] = ""

    def __init__(self, arg: str) -> None:
        self.arg = arg or self.default_arg

    def __init_subclass__(cls, *, name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if name:
            VARIANTS[name] = cls

    def ask(self, request: ChatRequest) -> ChatRequest:
        """Change the request before the script sees it."""
        return request

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        """Change what is said."""
        return answer

    def streams(self, *, asked: bool) -> bool:
        """Decide whether to answer with a stream."""
        return asked

    def whole(self, body: Chunk) -> Chunk:
        """Change the one body of an answer that is not streamed."""
        return body

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Change the chunks of a stream."""
        return chunks

    def events(self, events: list[bytes]) -> list[bytes]:
        """Change the bytes of the server-sent events, `[DONE]` included."""
        return events

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Change the whole reply: status, headers, framing, pauses and cuts."""
        return reply

    def happens(self, exchange: Exchange) -> bool:
        """Tell whether a fault meets this POST: `:always`, the first `:N`, one if unsaid, or only
        the Nth with `:=N`."""
        if self.arg.startswith("="):
            return exchange.number == int(self.arg[1:])
        return self.arg == "always" or exchange.number <= int(self.arg or 1)


class Std(Variant, name="std"):
    """Nothing is odd: the stream every client accepts."""


class Chain(Variant):
    """Several variants, one after the other at each hook."""

    def __init__(self, links: list[Variant]) -> None:
        super().__init__("")
        self._links = links

    def ask(self, request: ChatRequest) -> ChatRequest:
        return reduce(lambda value, link: link.ask(value), self._links, request)

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        return reduce(lambda value, link: link.say(value, request), self._links, answer)

    def streams(self, *, asked: bool) -> bool:
        return reduce(lambda value, link: link.streams(asked=value), self._links, asked)

    def whole(self, body: Chunk) -> Chunk:
        return reduce(lambda value, link: link.whole(value), self._links, body)

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        return reduce(lambda value, link: link.chunks(value), self._links, chunks)

    def events(self, events: list[bytes]) -> list[bytes]:
        return reduce(lambda value, link: link.events(value), self._links, events)

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return reduce(lambda value, link: link.reply(value, exchange), self._links, reply)


def load_variant(text: str) -> Variant:
    """Make the variant `NAME`, `NAME:ARG` or a chain `A+B` of them."""
    links = [_load_one(part) for part in text.split("+")]
    return links[0] if len(links) == 1 else Chain(links)


def _load_one(text: str) -> Variant:
    name, _, arg = text.partition(":")
    if name not in VARIANTS:
        raise LookupError(f"no variant is called {name!r}; see `python -m tests.scripted --list`")
    return VARIANTS[name](arg)
