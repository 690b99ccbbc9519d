"""The facts in the head of a GGUF file: what the model is called, how long its context is, how it
wants to be spoken to. Reads metadata only, never tensors, and trusts no length in the file."""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip


class NotGguf(ValueError):
    """The file is not a GGUF file, or a damaged one. The text says which."""


@dataclass(frozen=True, slots=True)
class GgufFacts:
    """What the file says of its model."""

    name: str
    architecture: str
    context: int
    """The longest context it was trained for, in tokens; 0 if the file does not say."""
    chat_template: str


def read_facts(path: Path) -> GgufFacts:
    """The facts of the model in `path`. Raises `NotGguf`, or `OSError`."""
    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise NotGguf("it does not begin with 'GGUF'")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            try:
                metadata = _Head(view).metadata()
            except (struct.error, IndexError, KeyError, UnicodeDecodeError):
                raise NotGguf("its head is damaged or cut off") from None
    architecture = _text(metadata, "general.architecture")
    context = metadata.get(f"{architecture}.context_length")
    return GgufFacts(
        name="-".join(_text(metadata, "general.name").split()) or path.stem,
        architecture=architecture,
        context=context if isinstance(context, int) else 0,
        chat_template=_text(metadata, "tokenizer.chat_template"),
    )


def _text(metadata: dict[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


class _Head:
    """Reads forward through the head. Arrays (vocabularies, mostly) are passed over."""

    def __init__(self, view: mmap.mmap) -> None:
        self._view = view
        self._at = len(_MAGIC)

    def metadata(self) -> dict[str, Any]:
        version = self._scalar("I")
        if version not in _VERSIONS:
            raise NotGguf(f"its version is {version}, not 2 or 3")
        self._scalar("Q")  # how many tensors
        return {self._string(): self._value(self._scalar("I")) for _ in range(self._scalar("Q"))}

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        return self._pass_array() if kind == _ARRAY else self._scalar(_SCALARS[kind])

    def _scalar(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self._view, self._at)
        self._at += struct.calcsize("<" + code)
        return value

    def _string(self) -> str:
        length = self._scalar("Q")
        begin = self._at
        self._pass_bytes(length)
        return self._view[begin : self._at].decode("utf-8")

    def _pass_array(self) -> None:
        kind, count = self._scalar("I"), self._scalar("Q")
        if kind != _STRING:
            self._pass_bytes(count * struct.calcsize("<" + _SCALARS[kind]))
            return
        for _ in range(count):
            self._pass_bytes(self._scalar("Q"))

    def _pass_bytes(self, count: int) -> None:
        self._at += count
        if self._at > len(self._view):
            raise IndexError
