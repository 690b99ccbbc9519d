"""Masks secrets in a trace, including those that arrived in pieces."""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from toolwire.protocol.fragments import CallFragment, Fragment

Mask: TypeAlias = Callable[[str], str]
_Key: TypeAlias = tuple[int, str, int | None]


def masked_json(raw: bytes, redact: Mask) -> str:
    """Mask every string in a JSON text, and return valid JSON."""
    try:
        return msgspec.json.encode(_masked(msgspec.json.decode(raw), redact)).decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return redact(raw.decode("utf-8", "replace"))


def _masked(value: Any, redact: Mask) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_masked(part, redact) for part in value]
    if isinstance(value, dict):
        return {redact(key): _masked(part, redact) for key, part in value.items()}
    return value


def in_one_piece(blocks: list[list[Fragment]], redact: Mask) -> list[list[Fragment]]:
    """Return the blocks with each text that contains a secret moved into its first piece."""
    joined: dict[_Key, list[str]] = {}
    for fragment in (fragment for block in blocks for fragment in block):
        for key, text in _pieces(fragment):
            joined.setdefault(key, []).append(text)
    texts = {key: "".join(pieces) for key, pieces in joined.items()}
    secret = {key: text for key, text in texts.items() if redact(text) != text}
    if not secret:
        return blocks
    whole = _Whole(secret)
    return [[whole.fragment(fragment) for fragment in block] for block in blocks]


def _pieces(fragment: Fragment) -> list[tuple[_Key, str]]:
    """Return the pieces of text in a fragment, each with the key of its whole text."""
    choice = fragment.choice
    calls = [((choice, "call", call.index), call.arguments) for call in fragment.calls]
    named = [
        ((choice, "text", None), fragment.text),
        ((choice, "reasoning", None), fragment.reasoning),
    ]
    return [(key, text) for key, text in (*named, *calls) if text and isinstance(text, str)]


class _Whole:
    """Moves each whole text into the first fragment that has a piece of it."""

    def __init__(self, left: dict[_Key, str]) -> None:
        self._left = left

    def fragment(self, fragment: Fragment) -> Fragment:
        choice = fragment.choice
        return msgspec.structs.replace(
            fragment,
            text=self._taken((choice, "text", None), fragment.text),
            reasoning=self._taken((choice, "reasoning", None), fragment.reasoning),
            calls=tuple(self._call(choice, call) for call in fragment.calls),
        )

    def _call(self, choice: int, call: CallFragment) -> CallFragment:
        if not isinstance(call.arguments, str):
            return call
        arguments = self._taken((choice, "call", call.index), call.arguments)
        return msgspec.structs.replace(call, arguments=arguments)

    def _taken(self, key: _Key, text: str) -> str:
        if key not in self._left or not text:
            return text
        taken, self._left[key] = self._left[key], ""
        return taken
