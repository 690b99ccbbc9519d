"""Measures how much of a prompt was cached before a turn.

A turn may send the same prompt to the engine several times: for one token, to decide between text
and a call, or to test a grammar. The final request then finds its prompt in the cache because of
the turn itself. So the cached tokens of the first request are reported.
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
    """Observes the requests that a turn makes before the final one."""

    generate: Generate
    found: list[int] = field(default_factory=list)

    def __call__(self, body: bytes, take: Take) -> None:
        """Send a request to the engine, and record the cached tokens."""

        def look(chunk: bytes) -> bool:
            usage = _decode(chunk).usage
            if usage is not None and usage.prompt_tokens_details is not None:
                self.found.append(usage.prompt_tokens_details.cached_tokens)
            return take(chunk)

        self.generate(body, look)
