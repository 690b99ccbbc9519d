"""Variants of where the text is cut: a server's tokens know nothing of words or markers."""

import copy

from tests.scripted.chunks import Chunk, pieces
from tests.scripted.variants.base import Variant


class Letters(Variant, name="letters"):
    """The text comes in pieces of `:N` characters, one by default, instead of words."""

    default_arg = "1"

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        return [cut for chunk in chunks for cut in self._cut(chunk)]

    def _cut(self, chunk: Chunk) -> list[Chunk]:
        text = chunk["choices"][0]["delta"].get("content") if chunk["choices"] else ""
        if not text:
            return [chunk]
        cuts = []
        for piece in pieces(text, int(self.arg)):
            cut = copy.deepcopy(chunk)
            cut["choices"][0]["delta"]["content"] = piece
            cuts.append(cut)
        return cuts
