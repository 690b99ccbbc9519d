"""Decides between text and a call, by the likelihood that the first token starts a call.

A large model starts a call by itself. A very small one hardly ever does, but a call is far more
likely if a tool is needed, so a threshold separates the two cases. The prompt is evaluated only
once.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from toolwire.backends.embedded.engine import Take

PROBE = {"max_tokens": 1, "logprobs": True, "top_logprobs": 300, "temperature": 0}
"""The parameters that request one token, with the most likely alternatives."""

_OPENINGS = ("[", "{")

Generate: TypeAlias = Callable[[bytes, Take], None]


class _Token(msgspec.Struct):
    token: str
    logprob: float


class _Place(msgspec.Struct):
    top_logprobs: list[_Token]


class _Logprobs(msgspec.Struct):
    content: list[_Place]


class _Choice(msgspec.Struct):
    logprobs: _Logprobs | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None


_decode = msgspec.json.Decoder(_Chunk).decode


class EngineRequest(msgspec.Struct, frozen=True):
    """A request to the engine."""

    content: bytes
    grammar: str = ""
    grammar_probe: bytes = b""
    """The same request for one token that the grammar forbids: see `grammar_check`."""


class TextOrCall(msgspec.Struct, frozen=True):
    """A request in three forms: for one token, for text, and constrained to calls."""

    probe: EngineRequest
    text: EngineRequest
    call: EngineRequest
    threshold: float
    """The log-probability of a call's first token above which the model intends a call."""

    def settle(self, generate: Generate, given_up: Callable[[], bool]) -> EngineRequest:
        """Choose between text and a call. Runs in the engine's thread."""
        means_a_call = self.likelihood(generate, given_up) > math.exp(self.threshold)
        return self.call if means_a_call else self.text

    def likelihood(self, generate: Generate, given_up: Callable[[], bool]) -> float:
        """Return the probability that the answer starts with a call."""
        likelihood = 0.0

        def look(chunk: bytes) -> bool:
            nonlocal likelihood
            for choice in _decode(chunk).choices or ():
                if choice.logprobs is not None:
                    likelihood += sum(map(_opening, choice.logprobs.content))
            return given_up()

        generate(self.probe.content, look)
        return likelihood


def _opening(place: _Place) -> float:
    """Return the probability that a call starts here."""
    openings = (t for t in place.top_logprobs if t.token.lstrip().startswith(_OPENINGS))
    return math.fsum(math.exp(token.logprob) for token in openings)
