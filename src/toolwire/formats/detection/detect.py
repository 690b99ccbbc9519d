"""Detects the format from a model name or a chat template, and says why.

By model name: the longest matching pattern of the catalogue wins. By chat template: first texts
that are unique to a format (`signs`), then tags that its calls require, then mere hints. The format
with the most evidence wins, and the model's name breaks ties. See `output.py` for whole answers.
"""

import re
from functools import lru_cache

import msgspec

from toolwire.formats.catalog import FORMATS
from toolwire.formats.framing import Markers
from toolwire.formats.record import Format

_LITERAL = re.compile(r"\{\w{1,16}+\}|\s++")
_SIZE = re.compile(r"[-_.](?:gguf|awq|gptq|fp8|bf16|int[48]|q\d\w*+)$")
_SHARED = 6  # shorter pieces of a template are not evidence
_TAG = re.compile(r"</?+[^<>{}\s/][^<>{}\s]*+>?+|\[[A-Z_]++\]|\[\[[^\[\]\s]++\]\]|```\w++")
_TURNS = frozenset({"<|im_start|>", "<|im_end|>", "<|assistant|>"})  # used by every message
_COMMON = frozenset({"<think>", "</think>"})
_PROOF = ("<", "[")
"""Prefixes of tags that templates contain only to write calls."""


class Detection(msgspec.Struct, frozen=True):
    """The name of a format, and the reason it was chosen."""

    format: str
    reason: str


def detect_model(model: str) -> Detection | None:
    """Return the format that a model of this name was trained on."""
    name = _SIZE.sub("", model.lower().replace("_", "-"))
    found = [
        (len(match.group()), match.group(), record)
        for record in FORMATS.values()
        for pattern in record.models
        if (match := re.search(pattern, name))
    ]
    if not found:
        return None
    _, text, record = max(found, key=lambda item: item[0])
    return Detection(record.name, f"the model name contains {text!r}")


def detect_template(template: str, model: str = "") -> Detection | None:
    """Return the format in which a chat template writes calls. `model` is the model's name."""
    named = detect_model(model)
    found = [
        (
            (rank, sum(map(len, texts)), named is not None and record.name == named.format),
            texts,
            record,
        )
        for record in FORMATS.values()
        for rank, texts in _evidence(record)
        if all(text in template for text in texts)
    ]
    if not found:
        return None
    _, texts, record = max(found, key=lambda item: item[0])
    return Detection(record.name, f"the template contains {', '.join(sorted(texts))}")


@lru_cache(maxsize=128)
def _evidence(record: Format) -> tuple[tuple[int, frozenset[str]], ...]:
    """Return the evidence for this format in a template, ranked by certainty."""
    ranked = [(2, sign) for sign in record.signs]
    ranked += [(1, tuple(_tags(record))), (0, record.template)]
    return tuple((rank, frozenset(texts)) for rank, texts in ranked if texts)


def likeness(record: Format, text: str) -> int:
    """Score how much of the format's literal text occurs in `text`, minus what is missing."""
    return sum(len(piece) if piece in text else -len(piece) for piece in _literals(record))


def written_in(record: Format, text: str) -> int:
    """Score how much of the format's literal text occurs in text that may be incomplete."""
    return sum(len(piece) for piece in _literals(record) if piece in text)


def written_around(record: Format, text: str) -> int:
    """Score how much of the format's own markup around text and reasoning occurs in `text`."""
    return sum(len(marker) for marker in _around(record) if marker in text)


@lru_cache(maxsize=128)
def _around(record: Format) -> frozenset[str]:
    """The markers around text and reasoning that few formats have."""
    framing = record.framing
    if not isinstance(framing, Markers):
        return frozenset()
    around = (marker for one in framing.reasoning for marker in (*one.opens, *one.closes))
    return frozenset(marker.strip() for marker in (*framing.drop, *around)) - _COMMON


@lru_cache(maxsize=128)
def _literals(record: Format) -> frozenset[str]:
    """The literals that every call of this format contains, from its own templates."""
    pieces = (piece.strip("[]{}\"',:") for piece in _LITERAL.split(_written(record)))
    return frozenset(piece for piece in pieces if len(piece) >= _SHARED)


@lru_cache(maxsize=128)
def _tags(record: Format) -> frozenset[str]:
    """The tags among the literals, separately, because a template may build the text between them.
    Words such as `tool_calls` are excluded: every template uses them as variable names."""
    tags = frozenset(_TAG.findall(_written(record))) - _TURNS
    return tags if any(tag.startswith(_PROOF) for tag in tags) else frozenset()


def _written(record: Format) -> str:
    writing = record.writing
    return " ".join((writing.before, writing.call, writing.param, writing.after, writing.delimiter))
