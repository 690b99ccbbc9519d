"""Remembers the context sizes that backends reported when they refused a request.

Agents request the same 32000 tokens every time. A reported context size is cached for a while, so
that only the first request is refused.
"""

from collections.abc import Callable

import msgspec

from toolwire.errors import GatewayError
from toolwire.protocol.requests import Request
from toolwire.surfaces.messages.adapting import fewer_tokens
from toolwire.surfaces.messages.errors import sizes_in
from toolwire.surfaces.messages.tokens import estimated_prompt

_REMEMBERED = 600.0
"""Seconds. The server may be restarted with another context size."""
_MOST_MODELS = 256
_ROOM = 1.02
"""Margin for prompts that are longer than estimated."""
_LEAST = 1024
"""Below this, an estimate is too imprecise, and the backend decides."""


class _Limit(msgspec.Struct, frozen=True):
    """A model's context size, the ratio of its tokens to an estimate, and when this expires."""

    window: int
    ratio: float
    until: float


class TokenLimits:
    """The known limits of models. `now` returns seconds since 1970."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, _Limit] = {}

    def learn(self, request: Request, error: GatewayError) -> bool:
        """Learn from a request that a backend refused. Return whether that was because its prompt
        and its answer together do not fit the context."""
        prompt, window = sizes_in(error.message)
        if prompt is None or window is None or prompt >= window:
            return False
        if len(self._known) >= _MOST_MODELS:
            self._known.clear()
        ratio = prompt / estimated_prompt(request.messages, request.tools.size)
        self._known[request.model] = _Limit(window, ratio, self._now() + _REMEMBERED)
        return True

    def applied(self, request: Request) -> Request:
        """Return the request with a `max_tokens` that leaves room for its prompt."""
        known = self._known.get(request.model)
        if known is None:
            return request
        if known.until < self._now():
            del self._known[request.model]
            return request
        prompt = estimated_prompt(request.messages, request.tools.size) * known.ratio * _ROOM
        most = int(known.window - prompt)
        lowered = fewer_tokens(request, most) if most >= _LEAST else None
        return request if lowered is None else lowered
