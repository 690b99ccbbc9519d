"""Checks once that the engine enforces a grammar, by biasing it to a line break, which no grammar
of ours allows.

llama.cpp silently ignores a grammar that it cannot use, because nothing matches it or because it is
too complex, and then after the first token of an answer. It reports this only in its log.
"""

from collections.abc import Callable

import msgspec

from toolwire.backends.embedded.call_probe import EngineRequest, Generate
from toolwire.protocol.lru import ByteLru

FORBIDDEN_TOKEN = {
    "max_tokens": 2,
    "temperature": 0,
    "logit_bias": [["\n", 100]],
    "cache_prompt": True,
}
"""The parameters that request two tokens, with a strong bias to a forbidden one."""

_REMEMBERED = 4 << 20


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None


_decode = msgspec.json.Decoder(_Chunk).decode


class GrammarCheck:
    """Remembers which grammars the engine enforces. Used only in the engine's thread."""

    def __init__(self) -> None:
        self._kept: ByteLru[str, bool] = ByteLru(_REMEMBERED)

    def require(
        self, body: EngineRequest, generate: Generate, given_up: Callable[[], bool]
    ) -> None:
        """Raise `ValueError` if the engine does not enforce the grammar of this body."""
        if not body.grammar_probe:
            return
        kept = self._kept.get(body.grammar)
        if kept is None:
            kept = _enforced(body.grammar_probe, generate, given_up)
            if kept is None or given_up():  # no result yet
                return
            self._kept.put(body.grammar, kept, len(body.grammar))
        if not kept:
            raise ValueError("nothing fits the JSON Schema of the answer, or it is too complex")


def _enforced(
    grammar_probe: bytes, generate: Generate, given_up: Callable[[], bool]
) -> bool | None:
    """Whether the engine enforced the grammar; None if it returned no token."""
    said: list[str] = []

    def look(chunk: bytes) -> bool:
        said.extend(choice.delta.content or "" for choice in _decode(chunk).choices or ())
        return given_up()

    generate(grammar_probe, look)
    text = "".join(said)
    # Some tokenizers write a line break as a space and a byte; JSON starts with neither.
    return "\n" not in text and not text.startswith(" ") if text else None
