"""Family D: one element per parameter, XML-like but not XML.

Values are raw text: nothing is escaped, so nothing may be unescaped. A value that can only be a
string is streamed as it arrives. Any other value is converted once complete, by schema or
attribute.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from toolwire.formats.arguments import json_text, values
from toolwire.formats.arguments.scalars import look_past_space
from toolwire.formats.arguments.schema import Types
from toolwire.formats.arguments.values import coerce_json, coerce_literal, coerce_quoted
from toolwire.formats.engines.begin import ANYTHING, Begin
from toolwire.formats.engines.continuation import undeclared_at
from toolwire.formats.engines.element_tree import list_of, tree_to_json
from toolwire.formats.engines.head_attributes import called_in
from toolwire.formats.engines.raw_value import RawValue
from toolwire.formats.engines.tags import (
    GLYPHS,
    Tags,
    attributes,
    body_lexer,
    head_lexer,
    key_lexer,
    key_of,
    opener_lexer,
    tag_lexer,
    unglyph,
    unquoted,
)
from toolwire.formats.lexer import Lexer
from toolwire.formats.quoting.mentions import is_special
from toolwire.formats.reader import Need, Reader, peek, skip_space
from toolwire.formats.turn_ends import TURN_END_LEXER, turn_ends_at
from toolwire.formats.turn_state import Opening, TurnState, finish_call, start_call

_SPACE = 256
_NO_END = "a value has no end"
_MAX_HEAD = 512
_NAME = re.compile(r"[^\s<>{}\"'()\[\]]{1,128}+")
_QUOTED_NAME = re.compile(r"\S{1,128}+")  # between special tokens
_NO_KEY = re.compile(r"\n|</")  # the tag was not closed, so the value was read as part of it
_ATTRIBUTE = r"(?:\Z|[^<>=]{1,64}+(?:\Z|[^<>]))"
_IN_HEAD = r"[^<>{}()\[\]]"


class Tagged(Tags, frozen=True, kw_only=True, eq=False):
    """Reads calls made of these tags."""

    def begins(self, *, bare: bool) -> Begin:
        """An attribute, or a name followed by a possible end of the head, or too long to tell."""
        if bare:
            return ANYTHING  # the opener is the whole head
        name = rf"(?:\Z|{_IN_HEAD}{{1,160}}+(?:\Z|{_IN_HEAD}|{head_lexer(self).ahead}))"
        return Begin(_ATTRIBUTE if self.head else name, "no head of a call")

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read one call."""
        name, glyphs, keyed = opening.name, False, False
        if not name:
            found = yield from self._read_head(turn)
            if found is None:
                return turn.refuse("no head of a call")
            head, end, keyed = found
            whole = ("<" if self.declared else "") + head + end
            if self.glyphs:
                glyphs = any(glyph in head for glyph in GLYPHS)
                head = unglyph(head)
            if self.value_open and "=" in head and (called := called_in(head, turn.tools)):
                return (yield from self._with_attributes(turn, *called))
            written = attributes(head).get(self.head, "") if self.head else _text_name(head)
            name = turn.tools.resolve(written)
            if not keyed:
                opener, apart = opener_lexer(self, turn.stop), bool(turn.tools.required(name))
                yield from _skip_doubled_head(turn.reader, whole, opener, apart=apart)
        allowed = _QUOTED_NAME if is_special(self.param) else _NAME
        if not allowed.fullmatch(name) or (opening.strict and not turn.tools.allows(name)):
            return turn.refuse(f"{name[:80]!r} is not a known tool")
        return (yield from _CallBody(self, turn, name, glyphs=glyphs).read(keyed=keyed))

    def _with_attributes(self, turn: TurnState, name: str, arguments: str) -> Need[bool]:
        """Read the end of a call whose head has all arguments."""
        body = body_lexer(self, name, ())
        marker, size = yield from body.at(turn.reader)
        if body.kinds.get(marker) != "close":
            return turn.refuse("no end of a call")
        turn.reader.pos += size
        start_call(turn, name)
        turn.sink.args(arguments)
        return (yield from finish_call(turn, ok=True))

    def _read_head(self, turn: TurnState) -> Need[tuple[str, str, bool] | None]:
        """Read the rest of the opening tag, or the text up to the first parameter, and its end.
        Also return whether the key of this parameter follows directly, without its opening tag."""
        reader, lexer = turn.reader, head_lexer(self)
        reader.pos += int(self.declared)  # "<"
        found = yield from lexer.read_to(reader, _MAX_HEAD)
        if found is None:
            return None
        head, marker, size = found
        kind = lexer.kinds[marker]
        if kind == "key" and (name := turn.tools.before_key(head)):
            reader.pos += head.index(name) + len(name)
            return name, "", True
        size = size if kind == "end" else 0
        reader.pos += len(head) + size
        return head, reader.buf[reader.pos - size : reader.pos], False


class _CallBody:
    """The parameters of one call being read."""

    __slots__ = ("body", "glyphs", "keys", "name", "put", "seen", "tags", "turn", "wrapped")

    def __init__(self, tags: Tags, turn: TurnState, name: str, *, glyphs: bool) -> None:
        self.tags = tags
        self.turn = turn
        self.name = name
        self.glyphs = glyphs
        self.put = turn.sink.args
        self.seen: dict[str, None] = {}
        self.wrapped: str | None = None  # the value of a possible wrapper parameter
        keys = (*turn.tools.properties(name), *tags.undeclared) if tags.declared else ()
        self.body = body_lexer(tags, name, keys)

    def read(self, *, keyed: bool) -> Need[bool]:
        """Read the body, from after the head to after the call's closing tag. `keyed`: it begins
        with a key."""
        turn = self.turn
        kind, marker, size = ("param", "", 0) if keyed else (yield from self._structure())
        if not kind and not (yield from self._json_body()):
            return turn.refuse("no parameter where one should be")
        breaks = kind == "end" or (kind == "stop" and self.tags.value_open)
        if breaks and not self._complete():
            return turn.refuse("the call breaks off")
        start_call(turn, self.name)
        if not kind:
            copied = yield from json_text.copy_value(turn.reader, self.put)
            yield from self._pass_close()
            return (yield from finish_call(turn, ok=copied, json=True))
        while kind in ("param", "value"):
            turn.reader.pos += size
            read = yield from self._parameter(marker) if kind == "param" else self._unopened()
            if read is None:
                kind = "end"
                break
            if not read:
                return (yield from finish_call(turn, ok=False, why=turn.why or _NO_END))
            kind, marker, size = yield from self._structure()
        if kind == "close":
            yield from self._pass_call_close(size)
        complete = kind in ("close", "stop") or self._complete()
        if complete:
            self._close_object()
        return (yield from finish_call(turn, ok=complete, why="the call breaks off"))

    def _structure(self) -> Need[tuple[str, str, int]]:
        """Classify the next tag: parameter, value without its opening tag, close, other structure
        ("stop"), end, or ""."""
        turn, reader = self.turn, self.turn.reader
        while True:
            char = yield from skip_space(reader, _SPACE)
            if not char:
                return "end", "", 0
            marker, size = yield from self.body.at(reader)
            if marker:
                kind = self.body.kinds[marker]
                if kind != "layout":
                    return kind, marker, size
                reader.pos += size
                continue
            marker, size = yield from turn.stop.at(reader)
            if not marker and reader.final and self._cut_off(self.body, turn.stop, TURN_END_LEXER):
                return "end", "", 0
            if not marker and (yield from turn_ends_at(reader)):
                return "end", "", 0
            if not marker and self.tags.declared:
                tag = yield from self._undeclared()
                return ("param" if tag else ""), tag, len(tag)
            return ("stop" if marker else ""), marker, size

    def _undeclared(self) -> Need[str]:
        """Return the opening tag of an undeclared parameter, or "". In front of all others it may
        be text, so a declared one must follow, or the end of a call that needs none."""
        turn = self.turn
        name, then = yield from undeclared_at(turn.reader, 0, self.body, turn.stop)
        kind = self.body.kinds.get(then)
        ends = kind == "close" and not turn.tools.required(self.name)
        return f"<{name}>" if name and (self.seen or kind == "param" or ends) else ""

    def _cut_off(self, *lexers: Lexer) -> bool:
        """Whether the text ends inside a tag. If so, drop the partial tag."""
        reader = self.turn.reader
        if not any(lexer.begun(reader) for lexer in lexers):
            return False
        reader.pos = len(reader.buf)
        return True

    def _json_body(self) -> Need[bool]:
        return (yield from peek(self.turn.reader, 1)) == "{"

    def _pass_close(self) -> Need[None]:
        kind, _, size = yield from self._structure()
        if kind == "close":
            yield from self._pass_call_close(size)

    def _pass_call_close(self, size: int) -> Need[None]:
        """Pass the call's closing tag and the tokenizer's whitespace glyphs after it."""
        reader = self.turn.reader
        reader.pos += size
        while self.glyphs and (yield from peek(reader, 1)) in GLYPHS:
            reader.pos += 1

    def _complete(self) -> bool:
        """Whether a call truncated between parameters has all required arguments."""
        known = bool(self.seen) or bool(self.turn.tools.known(self.name))
        return known and self.turn.tools.required(self.name) <= self.seen.keys()

    def _close_object(self) -> None:
        if self.wrapped is not None:
            self.put(self._unwrap())
        else:
            self.put("}" if self.seen else "{}")

    def _parameter(self, marker: str) -> Need[bool | None]:
        """Read one parameter, from after its opener to after its closing tag. Return None if the
        text ends before its value."""
        tags, reader = self.tags, self.turn.reader
        head = marker[1:-1] if tags.declared else (yield from self._read_until(key_lexer(tags)))
        if head is None:
            return self._begun_at_end()
        if tags.tree and head[:1] == "/" and head[1:] in self.seen:
            return True  # a doubled closing tag
        if tags.value_open:
            head = head.rpartition(tags.param)[2]  # a doubled opening tag
        written, head = head, unglyph(head) if tags.glyphs else head
        given = attributes(head) if tags.key else {}
        key = head if tags.declared else key_of(tags, head)
        if not key and head[:1] == "=":
            key = unquoted(head[1:])  # the key as other formats write it
        if not key or _NO_KEY.search(key):
            return self.turn.refuse("a parameter has no name")
        if tags.value_open:
            yield from self._pass(tags.key_end)  # a doubled closing tag
        if tags.type_tags[0]:
            given["type"] = yield from self._read_type()
        if tags.value_open and not (yield from self._pass(tags.value_open)):
            begun = (tag for tag in (tags.type_tags[0], tags.value_open) if tag)
            if reader.final and self._cut_off(*(tag_lexer(tags, tag) for tag in begun)):
                return None
            kind, *_ = yield from self._structure()
            if kind:
                return None if kind == "end" else True  # it has no value
        convert = self._converter(key, given)
        if not (tags.tree and convert):  # in a tree, an object may have a member of its own name
            yield from self._skip_doubled(written)
        return (yield from self._value(key, convert))

    def _unopened(self) -> Need[bool]:
        """Read a value whose parameter is named by the closing tag alone."""
        reader, tree, ahead = self.turn.reader, self.tags.tree, 0
        while (end := reader.buf.find(tree, reader.pos + ahead)) < 0:
            if reader.final:
                return False
            ahead = max(len(reader.buf) - reader.pos - len(tree), 0)
            yield
        value, reader.pos = reader.buf[reader.pos : end], end
        close = f"{tree}</"
        if (yield from peek(reader, len(close))) != close:
            return self.turn.refuse("a value has no name")
        reader.pos += len(close)
        key = yield from self._read_until(tag_lexer(self.tags, ">"))
        if not key:
            return False
        if key not in self.seen:
            convert = self._converter(key, {}) or values.quote
            self.put(f"{', ' if self.seen else '{'}{values.quote(key)}: {convert(value)}")
            self.seen[key] = None
        return True

    def _begun_at_end(self) -> bool | None:
        """Return None at the end of the text, dropping the rest of it; otherwise False."""
        reader = self.turn.reader
        if not reader.final:
            return False
        reader.pos = len(reader.buf)
        return None

    def _read_until(self, lexer: Lexer) -> Need[str | None]:
        """Consume the text up to a tag, and the tag, except the one before a value. Return None if
        there is no such tag."""
        found = yield from lexer.read_to(self.turn.reader, _MAX_HEAD)
        if found is None:
            return None
        text, tag, size = found
        self.turn.reader.pos += len(text) + (0 if lexer.kinds[tag] == "value" else size)
        return text

    def _pass(self, tag: str) -> Need[bool]:
        """Consume the tag that must come next."""
        reader = self.turn.reader
        yield from skip_space(reader, _SPACE)
        if (yield from peek(reader, 2)) == "\\n":
            reader.pos += 2
        found, size = yield from tag_lexer(self.tags, tag).at(reader)
        reader.pos += size
        return bool(found)

    def _read_type(self) -> Need[str]:
        start, end = self.tags.type_tags
        if not (yield from self._pass(start)):
            return ""
        stated = yield from self._read_until(tag_lexer(self.tags, end))
        if stated is None:
            self._begun_at_end()
        return (stated or "").strip()

    def _skip_doubled(self, head: str) -> Need[None]:
        """Pass a duplicate of the opening tag."""
        tags, reader = self.tags, self.turn.reader
        if tags.type_tags[0] or tags.value_open or tags.declared:
            return
        again = f"{tags.param}{head}{tags.key_end}"
        lead = int((yield from peek(reader, 1)) == "\n")
        if (yield from peek(reader, lead + 1))[lead:] != again[0]:
            return
        if (yield from peek(reader, lead + len(again)))[lead:] == again:
            reader.pos += lead + len(again)

    def _converter(self, key: str, given: dict[str, str]) -> Callable[[str], str] | None:
        """Return the conversion of the value to JSON; None for text, which is streamed."""
        types = self.turn.tools.types(self.name, key)
        typing, flag = self.tags.typing, given.get("string", "").lower()
        if self.tags.tree and not values.is_text(types):
            schema = self.turn.tools.schema(self.name, key)
            return lambda text: tree_to_json(text, self.tags.tree, schema)
        stated = given.get("type", "")
        if typing == "type-attribute" and stated:
            return None if stated in ("string", "str") else lambda text: coerce_literal(text, types)
        if typing == "string-attribute" and flag == "false":
            decode = coerce_quoted if types == values.STRING else coerce_literal
            return lambda text: decode(text, types)
        if typing == "string-attribute" and flag == "true" and "string" in types:
            return None
        if typing == "json" or (typing == "string-attribute" and not flag):
            return (lambda text: coerce_json(text, types)) if not types else self._by_schema(types)
        if self._may_wrap(key):
            return lambda text: values.any_literal(text) or values.quote(text)
        return self._by_schema(types)

    @staticmethod
    def _by_schema(types: Types) -> Callable[[str], str] | None:
        return None if values.is_text(types) else lambda text: values.coerce(text, types)

    def _value(self, key: str, convert: Callable[[str], str] | None) -> Need[bool]:
        """Copy one value into the arguments. If a parameter is repeated, the first wins."""
        again = key in self.seen
        wrapper = self._may_wrap(key)
        if not again:
            self._release_wrapped()
        if not again and not wrapper:
            self.put(f"{', ' if self.seen else '{'}{values.quote(key)}: ")
        if convert is None and not again and not wrapper:
            self.put('"')
            ended = yield from self._copy_raw(key, lambda text: self.put(json_text.escape(text)))
            if ended:
                self.put('"')
        else:
            text = yield from self._collected(key)
            ended = text is not None
            if text is not None and not again:
                self._put_value(convert(text) if convert else values.quote(text), wrapper=wrapper)
        if not again:
            self.seen[key] = None
        return ended

    def _collected(self, key: str) -> Need[str | None]:
        """Return a complete value, or None if it has no end. In a tree, an array may be written as
        one element for each of its items."""
        tags, items = self.tags, list[str]()
        while True:
            pieces: list[str] = []
            if not (yield from self._copy_raw(key, pieces.append)):
                return None
            items.append("".join(pieces))
            if not self._may_be_item(key, items[0]):
                return items[0]
            again = tag_lexer(tags, f"{tags.param}{key}>")
            yield from skip_space(self.turn.reader, _SPACE)
            _, size = yield from again.at(self.turn.reader)
            if not size and self.turn.reader.final and self._cut_off(again):
                return None
            if not size:
                return items[0] if len(items) == 1 else list_of(items, tags.tree)
            self.turn.reader.pos += size

    def _may_be_item(self, key: str, value: str) -> bool:
        """Whether this value may be an item of an array that is written without its own element."""
        tree = self.tags.tree
        whole = value.lstrip().startswith(("[", f"{tree}<item>"))
        return bool(tree) and not whole and "array" in self.turn.tools.types(self.name, key)

    def _put_value(self, value: str, *, wrapper: bool) -> None:
        if wrapper:
            self.wrapped = value
        else:
            self.put(value)

    def _may_wrap(self, key: str) -> bool:
        tools = self.turn.tools
        possible = key in self.tags.wrappers and tools.known(self.name) and not self.seen
        return possible and key not in tools.properties(self.name)

    def _release_wrapped(self) -> None:
        """Send a held parameter: another one follows, so it was not a wrapper."""
        if self.wrapped is not None:
            self.put(f"{{{values.quote(next(iter(self.seen)))}: {self.wrapped}")
            self.wrapped = None

    def _unwrap(self) -> str:
        value = self.wrapped or ""
        if value.startswith("{"):
            members = json.loads(value)
            if not members or members.keys() & self.turn.tools.properties(self.name).keys():
                return self._typed(members)
        return f"{{{values.quote(next(iter(self.seen)))}: {value}}}"

    def _typed(self, members: Mapping[str, Any]) -> str:
        """Convert the text members of an object by the schema."""
        tools = self.turn.tools
        typed = {
            key: values.coerce(value, tools.types(self.name, key))
            if isinstance(value, str)
            else values.to_json(value)
            for key, value in members.items()
        }
        return "{" + ", ".join(f"{values.quote(k)}: {v}" for k, v in typed.items()) + "}"

    def _copy_raw(self, key: str, put: Callable[[str], None]) -> Need[bool]:
        declared, known = self.turn.tools.properties(self.name), self.turn.tools.known(self.name)
        still = {other for other in declared if other != key and other not in self.seen}
        value = RawValue(self.tags, self.turn, self.body, key, still if known else None)
        return value.copy((lambda text: put(unglyph(text))) if self.glyphs else put)


def _skip_doubled_head(reader: Reader, head: str, opener: Lexer, *, apart: bool) -> Need[None]:
    """Pass a duplicate of the opening tag. Nothing is between them, or, if they may be `apart`,
    only space, so no call ended there."""
    ahead = (yield from look_past_space(reader, 0)) if apart else 0
    marker, size = yield from opener.at(reader, ahead)
    ahead += size
    if marker and (yield from peek(reader, ahead + len(head)))[ahead:] == head:
        reader.pos += ahead + len(head)


def _text_name(head: str) -> str:
    return unquoted(head.replace("\\n", "\n").rstrip().removesuffix("/"))
