"""How long an answer may be, as backends have said when they refused a longer one.

Agents ask for the same 32000 tokens with every request. What a backend has said about its context
is kept for a while, so that only the first of them is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass

from toolwire.errors import GatewayError
from toolwire.protocol.requests import Request
from toolwire.surfaces.messages.adapting import fewer_tokens
from toolwire.surfaces.messages.errors import sizes_in
from toolwire.surfaces.messages.tokens import estimated_prompt

_REMEMBERED = 600.0
"""Seconds: the server may be started anew, with another context."""
_MOST_MODELS = 256
_ROOM = 1.02
"""How much longer a prompt may be than it seems."""
_LEAST = 1024
"""Below this, an estimate is not good enough: the backend is asked."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """The context of a model, how its tokens compare to an estimate, and until when it is known."""

    window: int
    ratio: float
    until: float


class TokenLimits:
    """The limits of the models that have told them. `now`: seconds since 1970."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, _Limit] = {}

    def learn(self, request: Request, error: GatewayError) -> None:
        """A backend has refused this request."""
        prompt, window = sizes_in(error.message)
        if prompt is None or window is None or prompt >= window:
            return
        if len(self._known) >= _MOST_MODELS:
            self._known.clear()
        ratio = prompt / estimated_prompt(request.messages, request.tools.size)
        self._known[request.model] = _Limit(window, ratio, self._now() + _REMEMBERED)

    def applied(self, request: Request) -> Request:
        """The request, with a `max_tokens` that leaves room for its prompt."""
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
