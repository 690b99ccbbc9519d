"""The tags of a family D format, and the lexers built from them. Data only."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from toolwire.formats.lexer import Lexer

_ATTRIBUTE = re.compile(
    r"([\w:-]{1,64}+)\s{0,8}+=\s{0,8}+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>/]++))"
)

GLYPHS = {"Ġ": " ", "Ċ": "\n"}  # how byte-level tokenizers write whitespace
_UNGLYPH = str.maketrans(GLYPHS)

Spellings: TypeAlias = tuple[tuple[str, str], ...]
Typing: TypeAlias = Literal["schema", "string-attribute", "type-attribute", "json"]


class Tags(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The tags of a format.

    `head`: the attribute that names the tool in the opening tag, or "" if the text itself does;
    `head_ends` end the head. `param` opens a parameter; `key` and `key_end` likewise for its name;
    `value_open` stands between name and value. `close` may contain `{key}`. `trim`: one newline on
    each side of a value is layout. `wrappers` are parameters that may hold all arguments.
    `ends_around` are tags outside the call that also end it. `spellings` are pairs: the first text
    of a pair may be written as the second in a tag.
    """

    param: str
    close: str
    close_slips: tuple[str, ...] = ()
    """Tags that a model may write for `close`."""
    call_close: tuple[str, ...]
    head: str = ""
    head_ends: tuple[str, ...] = (">",)
    key: str = ""
    key_end: str = ">"
    type_tags: tuple[str, str] = ("", "")
    """The tags around a value's type, in a dialect of the format that states it."""
    value_open: str = ""
    trim: bool = False
    typing: Typing = "schema"
    declared: bool = False
    """The tags are the names of the tool and its parameters, so only declared ones are tags."""
    undeclared: tuple[str, ...] = ()
    """Parameters that models add to any call, although no tool declares them."""
    tree: str = ""
    """The prefix of nested tags, in a format that writes objects and arrays as elements."""
    wrappers: tuple[str, ...] = ()
    json_tags: tuple[str, ...] = ()
    """The tags that may be around arguments in JSON."""
    loose: bool = False
    ends_around: tuple[str, ...] = ()
    spellings: Spellings = ()
    glyphs: bool = False
    """The tokenizer's glyphs for space and newline may replace these characters, in a call whose
    head has them: the raw output of the model was seen to contain them."""


def spelled(markers: Iterable[str], spellings: Spellings) -> tuple[str, ...]:
    """The markers in every spelling."""
    found = dict.fromkeys(markers)
    for usual, other in spellings:
        found |= dict.fromkeys(marker.replace(usual, other) for marker in list(found))
    return tuple(found)


def _lexer(tags: Tags, kinds: Mapping[str, str]) -> Lexer:
    every = {one: kind for tag, kind in kinds.items() for one in spelled((tag,), tags.spellings)}
    return Lexer(every, _loose(tags, every))


@lru_cache(maxsize=64)
def head_lexer(tags: Tags) -> Lexer:
    """Finds the end of the head."""
    ends = dict.fromkeys(tags.head_ends, "end")
    if not tags.head and not tags.declared:
        ends = {tags.param: "body", **dict.fromkeys(tags.call_close, "body"), **ends}
    if tags.value_open:
        ends |= dict.fromkeys(('{"', "{\n", "{}"), "body")  # JSON instead of parameters
        ends |= {tags.key_end: "key"}  # the first key has no opening tag
        ends |= dict.fromkeys(tags.ends_around, "body")
    return _lexer(tags, ends)


@lru_cache(maxsize=64)
def opener_lexer(tags: Tags, stop: Lexer) -> Lexer:
    """Finds the openers of calls."""
    opens = [marker for marker, kind in stop.kinds.items() if kind in ("open", "bare")]
    opens += spelled(tags.ends_around, tags.spellings)
    return Lexer(dict.fromkeys(opens, "open"), stop.loose & set(opens))


@lru_cache(maxsize=128)
def tag_lexer(tags: Tags, tag: str) -> Lexer:
    """Finds a single tag."""
    return _lexer(tags, {tag: "tag"})


@lru_cache(maxsize=64)
def key_lexer(tags: Tags) -> Lexer:
    """Finds the end of a parameter's key: its own tag or, if missing, the one before the value. A
    model may confuse its tag with the value's."""
    kinds = {tags.value_open: "value", tags.close: "end"} if tags.value_open else {}
    return _lexer(tags, kinds | {tags.key_end: "end"})


@lru_cache(maxsize=256)
def body_lexer(tags: Tags, name: str, keys: tuple[str, ...]) -> Lexer:
    """Finds the tags that may occur between parameters."""
    closes = [close.replace("{name}", name) for close in tags.call_close]
    params = [f"<{key}>" for key in keys] if tags.declared else [tags.param]
    kinds = dict.fromkeys(params, "param") | dict.fromkeys(closes, "close") | {"\\n": "layout"}
    kinds |= dict.fromkeys(tags.ends_around, "stop")
    kinds |= {tags.tree: "value"} if tags.tree else {}  # its opening tag is missing
    kinds |= dict.fromkeys(GLYPHS if tags.glyphs else (), "layout")
    kinds |= {f"<{slash}{tag}>": "layout" for tag in tags.wrappers for slash in ("", "/")}
    kinds |= dict.fromkeys(tags.json_tags, "layout")
    return _lexer(tags, kinds)


def value_lexer(tags: Tags, body: Lexer, stop: Lexer, key: str, *, crlf: bool = False) -> Lexer:
    """Finds the tags that may end a value, and the ends of calls. With `trim` a newline before a
    tag belongs to it, which may be a `crlf`."""
    keyed = tags.tree or "{key}" in tags.close
    newlines = ("\n", "\r\n")[: 1 + crlf] if tags.trim else ()
    return _value_lexer(tags, body, stop, key if keyed else "", newlines)


@lru_cache(maxsize=512)
def _value_lexer(
    tags: Tags, body: Lexer, stop: Lexer, key: str, newlines: tuple[str, ...]
) -> Lexer:
    close = tags.close.replace("{key}", key)
    calls = {marker: kind for marker, kind in stop.kinds.items() if kind != "drop"}
    kinds = {marker: "close" if kind == "end" else "open" for marker, kind in calls.items()}
    kinds |= {marker: kind for marker, kind in body.kinds.items() if kind != "layout"}
    if tags.tree:
        kinds = {f"{tags.param}{key}>": "nest"}
    unclosed = close.removesuffix(">") + "\n"
    kinds |= dict.fromkeys(spelled(tags.close_slips, tags.spellings), "slip")
    kinds |= dict.fromkeys(spelled((close, unclosed), tags.spellings), "end")
    kinds |= {newline + marker: kind for newline in newlines for marker, kind in kinds.items()}
    return Lexer(kinds, _loose(tags, kinds))


def _loose(tags: Tags, markers: Iterable[str]) -> list[str]:
    return [m for m in markers if m.endswith(">") and (tags.loose or m.lstrip().startswith("</"))]


def unglyph(text: str) -> str:
    """Replace the tokenizer's whitespace glyphs in `text`."""
    return text.translate(_UNGLYPH)


def key_of(tags: Tags, head: str) -> str:
    """Return the name of a parameter from its head."""
    return attributes(head).get(tags.key, "") if tags.key else unquoted(head)


def unquoted(text: str) -> str:
    """Return `text` as a name, or the quoted name that it begins with."""
    name = text.strip()
    quote = name[:1]
    if quote in ("'", '"') and quote in name[1:]:
        return name[1 : name.index(quote, 1)]
    return name.strip("\"'")


def attributes(head: str) -> dict[str, str]:
    """Parse the `key="value"` pairs of an opening tag, quoted or not."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(head):
        value = match[2] or match[3] or match[4] or ""
        found.setdefault(match[1], value.replace("&quot;", '"').replace("&amp;", "&"))
    return found
