"""Escapes calls without markers, such as `{"name": ...}` or `[f(a=1)]`, in untrusted text.

A model that repeats such text makes the call, because nothing distinguishes a quoted call from its
own. So the bracket of a possible call is replaced by a visible escape, as for markers
(`escape_markers.py`). Much harmless text begins like a call, such as `{"id": 1}`. So only a message
with the name of a callable tool, or with an escape that may hide one, is checked.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from toolwire.formats.arguments import values
from toolwire.formats.framing import ToolMarkers
from toolwire.formats.markers import MarkerSet
from toolwire.formats.record import Format
from toolwire.formats.rendering.escape_markers import broken_up
from toolwire.protocol.names import folded

_TAG = re.compile(r"<([\w.-]{1,128}+)>")
_NAMES = ("name", "tool_name")
_HIDING = ("\\u", "\\x", "\\U", "\\N", "&#", "tool_calls")


def is_bare(record: Format) -> bool:
    """Whether calls of this format need no marker."""
    return isinstance(record.framing, ToolMarkers) or _opening(record) is not None


def unspell(record: Format, texts: Sequence[str], tools: Collection[str]) -> Sequence[str]:
    """Escape the texts of one message, so that none contains an unmarked call of `tools`."""
    if not is_bare(record) or not _may_name(texts, tools):
        return texts
    if isinstance(record.framing, ToolMarkers):
        return [_without_tags(text, tools) for text in texts]
    pattern = _opening(record)
    return texts if pattern is None else [broken_up(pattern, text) for text in texts]


def unspell_strings(record: Format, json: str, tools: Collection[str]) -> str:
    """Like `unspell`, for the strings in this JSON, with JSON's own escapes."""
    if isinstance(record.framing, ToolMarkers):
        return _without_tags(json, tools)
    pattern = _opening(record, quoted=True)
    return json if pattern is None else broken_up(pattern, json)


def unspell_objects(value: Any, tools: Collection[str]) -> Any:
    """Replace objects in a schema that look like a call, such as a default value, by text."""
    if isinstance(value, list):
        return [unspell_objects(item, tools) for item in value]
    if not isinstance(value, Mapping):
        return value
    if any(isinstance(name := value.get(key), str) and _is_tool(name, tools) for key in _NAMES):
        return values.to_json(value)
    return {key: unspell_objects(item, tools) for key, item in value.items()}


def _is_tool(name: str, tools: Collection[str]) -> bool:
    return any(folded(tool) in folded(name) for tool in tools)


def _may_name(texts: Sequence[str], tools: Collection[str]) -> bool:
    """Whether this message may name a tool, even across two of its texts."""
    whole = "".join(texts)
    if any(sign in whole for sign in _HIDING):
        return True
    plain = folded(whole)
    return any(folded(tool) in plain for tool in tools)


def _without_tags(text: str, tools: Collection[str]) -> str:
    def broken(tag: re.Match[str]) -> str:
        return f"\\u003c{tag[1]}>" if tag[1] in tools else tag[0]

    return _TAG.sub(broken, text)


@lru_cache(maxsize=256)
def _opening(record: Format, *, quoted: bool = False) -> re.Pattern[str] | None:
    """Finds the bracket of anything that the format's engine may read as the start of a call.

    `quoted`: in JSON that Toolwire writes. Its strings escape quotes, so a bracket before an
    unescaped quote is Toolwire's own.
    """
    framing = record.framing
    bare = framing.bare if isinstance(framing, MarkerSet) else ()
    brackets = "".join(re.escape(opener) for opener in bare if len(opener) == 1)
    if not brackets:
        return None
    begin = record.engine.begins(bare=True).pattern
    ours = r"(?![\s,\[{]{1,40}+\")" if quoted else ""
    return re.compile(f"(?={begin}){ours}[{brackets}]")
