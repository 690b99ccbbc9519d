"""Breaks up a format's markers in text that others wrote, so that it cannot forge structure.

A tool result that quotes `<tool_call>` or `</tool_response>` would otherwise open a call or close
the result. The first character of each marker is written as a visible escape; everything else
stays as it is, so a person and a model can still read what was there.
"""

import re
from functools import lru_cache

from toolwire.formats.record import Format

# Turn boundaries of the common chat templates: no result may start a turn, whatever the format.
_TURNS = (
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|end|>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "[INST]",
    "[/INST]",
    "</s>",
    "<s>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜end▁of▁sentence｜>",
)
_TAG = re.compile(r"<[^<>\s{}]{1,48}+>|\[/?+[A-Z_]{3,24}+\]")


def neutralize(record: Format, text: str) -> str:
    """`text` without any marker of the format, or of a turn."""
    return _pattern(record).sub(_break, text)


def _break(match: re.Match[str]) -> str:
    marker = match.group()
    return f"\\u{ord(marker[0]):04x}{marker[1:]}"


@lru_cache(maxsize=128)
def _pattern(record: Format) -> re.Pattern[str]:
    own = record.framing.markers()
    written = _TAG.findall(
        " ".join((record.results.result, record.results.before, record.results.after))
    )
    markers = {marker.strip() for marker in (*own, *written, *record.special_tokens, *_TURNS)}
    ordered = sorted((m for m in markers if len(m) > 1), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered)))
