"""Family A: the call is a JSON object that holds the name and the arguments.

The members of the call object are read one by one, in any order. Arguments are copied as they
arrive once the name is known. A call ends with its arguments, so a missing last brace or a late id
does not matter.
"""

import re
from functools import partial
from typing import Literal

import msgspec

from toolwire.formats.arguments import json_text
from toolwire.formats.arguments.json_text import skip_blank
from toolwire.formats.engines.begin import Begin, spaced
from toolwire.formats.engines.json_layout import (
    after_layout,
    at_marker,
    begins_arguments,
    ends_call,
    read_string,
    skip_fence,
)
from toolwire.formats.engines.surplus import pass_surplus
from toolwire.formats.reader import Need, peek, skip_space
from toolwire.formats.turn_state import Opening, TurnState, finish_call, start_call

_SPACE = 256
_MAX_NAME = 256
_MAX_NESTING = 3
_IN_KEY = r"[^\"\\\x00-\x1f]{0,64}+"
_GAP = r"[\s,]"
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_TOOL_ARGUMENTS = (*_ARGUMENTS, "tool_args", "tool_input")
_PAIRS = {
    "name": _ARGUMENTS,
    "function": _ARGUMENTS,
    "function_name": _ARGUMENTS,
    "tool_name": _TOOL_ARGUMENTS,
    "tool": _TOOL_ARGUMENTS,
    "action": ("action_input",),
}
"""The key of a call's name, and the keys that its arguments may have then."""
_WORDS = ("tool", "action")
"""Keys that occur in other objects as well. Such a call names a declared tool, and has no other
members, so it is read to its end first."""
_ARGS_KEYS = (*_TOOL_ARGUMENTS, "action_input")
_ID_KEYS = ("id", "tool_call_id", "call_id")
_NESTED = ("function", "tool_call", "function_call")
_OUTER_KEYS = ("type", "tool_calls", *_NESTED)


class JsonCalls(msgspec.Struct, frozen=True):
    """`{"name": ..., "arguments": {...}}`, alone, in a row, or in an array.

    `shape` "array" requires brackets.
    """

    shape: Literal["any", "array"] = "any"
    name_is_key: bool = False
    """The call is `{NAME: {arguments}}`: the model has no key for the name."""
    atomic: bool = False
    """If one element of the array is not a call, none is: bare arrays of JSON are often answers."""
    no_call: str = ""
    """The tool that the model was trained to call instead of calling none."""
    answer_key: str = ""
    """The member that holds plain text instead of a call, in an answer under a grammar."""

    def begins(self, *, bare: bool) -> Begin:
        """An object that begins with a key of a call, an array, or a fence before either."""
        strict = bare and not self.name_is_key
        key = _first_key("|".join(map(re.escape, self._keys())) if strict else _IN_KEY)
        row = rf"\{{\{{?{key}" if self.shape == "any" else "(?!)"
        array = r"\[" + spaced(rf"\{{{key}" if bare else r"[^\w\"'(]", _GAP)
        call = f"(?:{array}|{row})"
        return Begin(call if bare else spaced(f"`|{call}"), "not the JSON of a call")

    def _keys(self) -> tuple[str, ...]:
        """The keys that a call may begin with."""
        answer = (self.answer_key,) if self.answer_key else ()
        return (*_PAIRS, *_ARGS_KEYS, *_ID_KEYS, *_OUTER_KEYS, *answer)

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read one call, or all of an array."""
        fenced = yield from skip_fence(turn)
        char = yield from skip_space(turn.reader, _SPACE)
        if char == "[":
            clean = yield from self._read_arrays(turn, strict=opening.strict)
        elif char == "{" and self.shape == "any":
            clean = yield from self._read_row(turn, strict=opening.strict)
        else:
            return turn.refuse("no JSON where a call should be")
        if clean:
            yield from pass_surplus(turn, fenced=fenced)
        if clean and fenced:
            yield from skip_fence(turn, closing=True)
            turn.settle()
        return clean

    def _read_arrays(self, turn: TurnState, *, strict: bool) -> Need[bool]:
        """Read an array, and further ones of known tools right behind it."""
        clean = yield from self._read_array(turn, strict=strict)
        while clean and not self.atomic:
            ahead = yield from after_layout(turn, "[")
            if ahead < 0 or (yield from turn.stop.at(turn.reader, ahead))[0]:
                break
            turn.reader.pos += ahead
            clean = yield from self._read_array(turn, strict=True)
        return clean

    def _read_array(self, turn: TurnState, *, strict: bool) -> Need[bool]:
        reader, before = turn.reader, turn.sink.calls
        hold = self.atomic and not turn.sink.live
        if hold:
            turn.sink.hold()
        reader.pos += 1
        turn.why = ""
        clean = yield from self.read_items(turn, strict=strict)
        if clean and strict and turn.sink.calls == before:
            clean = turn.refuse("an empty array")
        stranger = turn.why and not (turn.broken or reader.final)
        if hold and (clean or (turn.sink.calls > before and not stranger)):
            turn.sink.release()
            turn.settle_late()
        elif hold:
            turn.sink.drop()
        return clean

    def read_items(
        self, turn: TurnState, *, strict: bool, depth: int = 0, listed: bool = False
    ) -> Need[bool]:
        """Read elements up to the closing bracket, which may be missing at the end of the text.

        `listed`: the list is named `tool_calls`, so unknown tools count as calls too.
        """
        reader, before = turn.reader, turn.sink.calls
        while True:
            char = yield from skip_blank(reader, _SPACE)
            if char == "{":
                call = _CallObject(self, turn, strict=strict, depth=depth, listed=listed)
                if not (yield from call.read()):
                    return False
                char = yield from skip_blank(reader, _SPACE)
                if char == "}" and (yield from self._is_surplus(turn)):
                    reader.pos += 1
                    char = yield from skip_blank(reader, _SPACE)
            if char == ",":
                reader.pos += 1
                continue
            if char == "{":
                continue  # the comma is missing
            if char == "]":
                reader.pos += 1
                if turn.sink.calls > before or not strict:
                    turn.settle()
                return True
            if char == "":
                if turn.sink.calls > before:
                    turn.settle()  # a separator that the text ends with is no text
                return True
            return turn.sink.calls > before and (yield from at_marker(turn))

    @staticmethod
    def _is_surplus(turn: TurnState) -> Need[bool]:
        """Whether the brace at the reader's position is one too many behind an element."""
        ahead, comma = 1, False
        while True:
            char = (yield from peek(turn.reader, ahead + 1))[ahead:]
            if char == "," and not comma:
                comma = True
            elif ahead == _SPACE or not char.isspace():
                return char == "{" if comma else char in ("]", "")
            ahead += 1

    def _read_row(self, turn: TurnState, *, strict: bool) -> Need[bool]:
        """Read consecutive calls, with nothing or a separator between them."""
        reader = turn.reader
        while True:
            if not (yield from _CallObject(self, turn, strict=strict).read()):
                return False
            ahead = yield from after_layout(turn)
            if ahead < 0:
                return True
            reader.pos += ahead


def _first_key(keys: str) -> str:
    """Match one of these keys and its colon, or a truncated, long or unusually written key, or a
    comment."""
    return spaced(rf"['/#]|\"(?:(?:{keys})\"{spaced('[:/#]')}|{_IN_KEY}(?:\Z|[^\"\n]))", _GAP)


class _CallObject:
    """One call object being read, member by member."""

    __slots__ = (
        "args_key", "depth", "engine", "held", "listed", "name", "name_key", "provider_id",
        "strange", "strict", "turn",
    )  # fmt: skip

    def __init__(
        self,
        engine: JsonCalls,
        turn: TurnState,
        *,
        strict: bool,
        depth: int = 0,
        listed: bool = False,
    ) -> None:
        self.engine = engine
        self.turn = turn
        self.strict = strict
        self.depth = depth
        self.listed = listed  # it is in a list named `tool_calls`
        self.name = self.name_key = self.args_key = ""
        self.provider_id: str | None = None
        self.held: str | None = None  # arguments that came before the name
        self.strange = False  # a member that does not belong in a call was seen

    def read(self) -> Need[bool]:
        reader = self.turn.reader
        reader.pos += 1
        if (yield from peek(reader, 1)) == "{":
            reader.pos += 1  # doubled, as in a template of a prompt
        while True:
            char = yield from skip_blank(reader, _SPACE)
            if char == "}":
                reader.pos += 1
                return (yield from self._close())
            if char == ",":
                reader.pos += 1
                continue
            key = yield from read_string(self.turn)
            if key is None and self.name and self.held and (yield from self._is_over(char)):
                return (yield from self._close())
            if key is None or "\n" in key or (yield from skip_blank(reader, _SPACE)) != ":":
                return self.turn.refuse("not a JSON object")
            reader.pos += 1
            done = yield from self._member(key)
            if done is not None:
                return done

    def _is_over(self, char: str) -> Need[bool]:
        """Whether the call ends before this character, and its last brace is missing."""
        return char in ("", "]") or (yield from at_marker(self.turn))

    def _member(self, key: str) -> Need[bool | None]:
        """Read one member. Return None to continue with the next."""
        engine, turn = self.engine, self.turn
        char = yield from skip_blank(turn.reader, _SPACE)
        named = key in _PAIRS and char in ("'", '"') and not self.name
        misplaced = key in _ARGS_KEYS and not turn.tools.known(key)
        if engine.name_is_key and not (named or self.name_key or misplaced):
            self.name = turn.tools.resolve(key)
            return (yield from self._arguments(char))
        if named:
            return (yield from self._read_name(key))
        if key in _ARGS_KEYS and self.held is None and self._pairs(key):
            return (yield from self._arguments(char))
        if key in _ID_KEYS and char in ("'", '"'):
            self.provider_id = yield from read_string(turn)
            return None
        if key in _NESTED and char == "{":
            return (yield from self._nested())
        if key == "tool_calls" and char == "[":
            return (yield from self._nested_list())
        if engine.answer_key and key == engine.answer_key and char == '"':
            return (yield from self._answer())
        if self.strict and key not in ("type", *_ID_KEYS):
            return turn.refuse(f"a call has no member {key[:40]!r}")
        self.strange = self.strange or key not in ("type", *_ID_KEYS)
        copied = yield from json_text.copy_value(turn.reader, lambda _: None)
        return None if copied else turn.refuse("not JSON")

    def _pairs(self, args_key: str) -> bool:
        """Whether arguments may have this key, beside the key of the name if it is known."""
        self.args_key = args_key
        return not self.name_key or args_key in _PAIRS[self.name_key]

    def _nested(self) -> Need[bool]:
        """Read a call that is a member of another object, as in OpenAI's own messages."""
        if not self._deeper():
            return False
        if not (yield from self.read()):
            return False
        yield from self._rest()
        return True

    def _nested_list(self) -> Need[bool]:
        """Read a list of calls that is a member of another object."""
        if not self._deeper():
            return False
        self.turn.reader.pos += 1
        items = self.engine.read_items(self.turn, strict=self.strict, depth=self.depth, listed=True)
        if not (yield from items):
            return False
        yield from self._rest()
        return True

    def _deeper(self) -> bool:
        self.depth += 1
        return self.depth <= _MAX_NESTING or self.turn.refuse("objects in objects")

    def _answer(self) -> Need[bool]:
        turn = self.turn
        text = yield from read_string(turn)
        if text is None or (yield from skip_blank(turn.reader, _SPACE)) != "}":
            return turn.refuse("the answer is not a string")
        turn.reader.pos += 1
        turn.sink.text(text)
        turn.settle()
        return True

    def _read_name(self, key: str) -> Need[bool | None]:
        turn = self.turn
        written = yield from read_string(turn)
        if not written or len(written) > _MAX_NAME:
            return turn.refuse("the name is not a string")
        self.name, self.name_key = turn.tools.resolve(written), key
        allows = turn.tools.known if key in _WORDS else turn.tools.allows
        if (key in _WORDS or (self.strict and not self.listed)) and not allows(self.name):
            return turn.refuse(f"{self.name[:80]!r} is not a known tool")
        if self.args_key and not self._pairs(self.args_key):
            return turn.refuse(f"a call with {key!r} has no member {self.args_key!r}")
        return None

    def _arguments(self, char: str) -> Need[bool | None]:
        """Read the arguments. Send them if the name is known, otherwise hold them."""
        turn = self.turn
        if self.name and self.name.replace("-", "_") == self.engine.no_call:
            copied = yield from json_text.copy_value(turn.reader, lambda _: None)
            yield from self._rest()
            turn.settle()
            return copied
        if char == "{" and self.name and self.name_key not in _WORDS:
            if not (yield from begins_arguments(turn, self.name)):
                return turn.refuse("the arguments are not JSON")
            return (yield from self._copy_arguments())
        held: list[str] = []
        if not (yield from json_text.copy_value(turn.reader, held.append)):
            return turn.refuse("the arguments are not JSON")
        self.held = json_text.read_object("".join(held))
        return None if self.held else turn.refuse("the arguments are not an object")

    def _copy_arguments(self) -> Need[bool]:
        """Send the arguments as they arrive, and those of further calls in the same object."""
        turn, over = self.turn, partial(ends_call, self.turn)
        while self.name:
            start_call(turn, self.name, self.provider_id)
            copied = yield from json_text.copy_value(turn.reader, turn.sink.args, over)
            if not (yield from finish_call(turn, ok=copied, json=True)):
                return False
            self.name = yield from self._rest()
        return True

    def _close(self) -> Need[bool]:
        """Close an object whose arguments were not sent yet: they were held, or there are none."""
        turn = self.turn
        if not self.name:
            return turn.refuse("the object has no name")
        if self.held is None and (self.strange or (self.strict and not self.listed)):
            return turn.refuse("the object has no arguments")
        if self.strange and self.name_key in _WORDS:
            return turn.refuse("the object has other members than a call")
        start_call(turn, self.name, self.provider_id)
        turn.sink.args(self.held or "{}")
        return (yield from finish_call(turn, ok=True))

    def _rest(self) -> Need[str]:
        """Pass the members after the arguments, and the brace, if they are there.

        Return the name of another call if there is one in the same object.
        """
        reader, tools = self.turn.reader, self.turn.tools
        while True:
            char = yield from skip_blank(reader, _SPACE)
            if char == "}":
                reader.pos += 1
                self.turn.settle()
                return ""
            if char != ",":
                return ""
            reader.pos += 1
            char = yield from skip_blank(reader, _SPACE)
            if char == "}":
                continue  # a surplus comma
            if char not in ("'", '"'):
                return ""
            key = yield from read_string(self.turn)
            if key is None or (yield from skip_blank(reader, _SPACE)) != ":":
                return ""
            reader.pos += 1
            char = yield from skip_blank(reader, _SPACE)
            if self.engine.name_is_key and char == "{" and tools.known(tools.resolve(key)):
                return tools.resolve(key)
            if not (yield from json_text.copy_value(reader, lambda _: None)):
                return ""
