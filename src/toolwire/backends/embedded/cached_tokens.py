"""How much of a prompt was known before a turn.

A turn may ask the engine several times with the same prompt: for one token, to decide between text
and a call, or to try a grammar. The answer that is delivered then finds its prompt in the cache
because of the turn itself. What counts is what the first of these requests found there.
"""

from dataclasses import dataclass, field

import msgspec

from toolwire.backends.embedded.call_probe import Generate
from toolwire.backends.embedded.engine import Take


class _Details(msgspec.Struct):
    cached_tokens: int = 0


class _Usage(msgspec.Struct):
    prompt_tokens_details: _Details | None = None


class _Chunk(msgspec.Struct):
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Chunk).decode


@dataclass(slots=True)
class CachedTokens:
    """Listens to the requests that a turn makes before the one that is answered."""

    generate: Generate
    found: list[int] = field(default_factory=list)

    def __call__(self, body: bytes, take: Take) -> None:
        """Ask the engine, and note what it had of the prompt."""

        def look(chunk: bytes) -> bool:
            usage = _decode(chunk).usage
            if usage is not None and usage.prompt_tokens_details is not None:
                self.found.append(usage.prompt_tokens_details.cached_tokens)
            return take(chunk)

        self.generate(body, look)
