"""Finds the end of a JSON value: incrementally, in linear time, without decoding it."""

import re

import msgspec

_skip = msgspec.json.Decoder(msgspec.Raw).decode
_OUTSIDE = re.compile(r'["{}\[\]]')
_LONG = 512 * 1024
_INSIDE = re.compile(r'["\\]')


class JsonBoundary:
    """Tracks one JSON object or array as it arrives in pieces, including strings and escapes."""

    __slots__ = ("_depth", "_escaped", "_in_string", "complete", "started")

    def __init__(self) -> None:
        self.started = False
        self.complete = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    @property
    def open(self) -> bool:
        """Whether the value, or a string before it, has begun and not ended."""
        return (self.started or self._in_string) and not self.complete

    @property
    def in_string(self) -> bool:
        """Whether a string has begun and not ended."""
        return self._in_string

    def feed(self, text: str) -> int:
        """Consume the next piece. Return how many of its characters belong to the value."""
        if self.complete:
            return 0
        fresh = not (self.started or self._in_string)
        if fresh and text[:1] == "{" and is_whole_object(text):
            self.started = self.complete = True
            return len(text)
        at = 0
        if self._escaped and text:
            self._escaped = False
            at = 1
        while True:
            found = (_INSIDE if self._in_string else _OUTSIDE).search(text, at)
            if found is None:
                return len(text)
            at = found.end()
            mark = found[0]
            if mark == '"':
                self._in_string = not self._in_string
            elif mark == "\\":
                self._escaped = at == len(text)
                at += 1
            elif mark in "{[":
                self.started = True
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth <= 0:
                    self.complete = True
                    return at


def is_unclosed(text: str) -> bool:
    """Whether this text contains an unclosed object, array or string. Of a very long one, which is
    known to be incomplete, only whether it contains any."""
    if len(text) > _LONG:
        return _OUTSIDE.search(text) is not None
    boundary = JsonBoundary()
    boundary.feed(text)
    return boundary.open


def is_whole_object(text: str) -> bool:
    """Whether this is a complete object. Many times faster than scanning each character."""
    if text[:1] != "{" or text[-1] != "}":
        return False
    try:
        _skip(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True
