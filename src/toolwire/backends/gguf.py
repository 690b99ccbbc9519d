"""Reads the metadata of a GGUF file: the model's name, its context length, its chat template. It
never reads tensors, and trusts no length in the file."""

import mmap
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_CONTROL = 3
"""The type of control tokens."""
_LOSSLESS = ("gpt2", "llama")
"""Tokenizers (BPE, SentencePiece with bytes) that write every character of a text into a token. In
the file a token is at least as long as what it stands for."""
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip


class NotGguf(ValueError):
    """The file is not a GGUF file, or is damaged. The message says which."""


class GgufFacts(msgspec.Struct, frozen=True):
    """What the file says about its model."""

    name: str
    architecture: str
    context: int
    """The context length of its training, in tokens; 0 if unknown."""
    chat_template: str


class GgufTokens(msgspec.Struct, frozen=True):
    """The special tokens of its tokenizer. A missing one is ""."""

    bos: str = ""
    eos: str = ""
    adds_bos: bool = True
    """Whether the tokenizer prepends `bos` to a prompt."""
    control: tuple[str, ...] = ()
    longest: int = 0
    """No token stands for more characters than this; 0 if that cannot be said."""


def read_facts(path: Path) -> GgufFacts:
    """Read the facts of the model in `path`. Raises `NotGguf`, or `OSError`."""
    with _opened(path) as head:
        metadata = head.metadata()
    architecture = _text(metadata, "general.architecture")
    context = metadata.get(f"{architecture}.context_length")
    return GgufFacts(
        name="-".join(_text(metadata, "general.name").split()) or path.stem,
        architecture=architecture,
        context=context if isinstance(context, int) else 0,
        chat_template=_text(metadata, "tokenizer.chat_template"),
    )


def read_tokens(path: Path) -> GgufTokens:
    """Read the special tokens of the model in `path`. Raises `NotGguf`, or `OSError`."""
    with _opened(path) as head:
        metadata = head.metadata()
        types = head.numbers("tokenizer.ggml.token_type")
        bos, eos = (_number(metadata, f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos"))
        control = [number for number, kind in enumerate(types) if kind == _CONTROL]
        tokens = head.strings("tokenizer.ggml.tokens", {bos, eos, *control})
        longest = head.longest("tokenizer.ggml.tokens")
    return GgufTokens(
        tokens.get(bos, ""),
        tokens.get(eos, ""),
        adds_bos=metadata.get("tokenizer.ggml.add_bos_token") is not False,
        control=tuple(tokens[number] for number in control if number in tokens),
        longest=longest if _text(metadata, "tokenizer.ggml.model") in _LOSSLESS else 0,
    )


@contextmanager
def _opened(path: Path) -> Iterator["_Head"]:
    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise NotGguf("it does not begin with 'GGUF'")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            try:
                yield _Head(view)
            except (struct.error, IndexError, KeyError, UnicodeDecodeError):
                raise NotGguf("its head is damaged or cut off") from None


def _text(metadata: dict[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _number(metadata: dict[str, Any], key: str) -> int:
    """Return a number of the metadata; -1 if it is missing."""
    value = metadata.get(key)
    return value if isinstance(value, int) else -1


class _Array(msgspec.Struct, frozen=True):
    kind: int
    count: int
    at: int
    longest: int = 0
    """The bytes of its longest string."""


class _Head:
    """Reads forward through the head. Arrays (mostly vocabularies) are skipped and can be
    read later: their value is their position."""

    def __init__(self, view: mmap.mmap) -> None:
        self._view = view
        self._at = len(_MAGIC)
        self._arrays: dict[str, _Array] = {}

    def metadata(self) -> dict[str, Any]:
        version = self._scalar("I")
        if version not in _VERSIONS:
            raise NotGguf(f"its version is {version}, not 2 or 3")
        self._scalar("Q")  # the number of tensors
        metadata = {}
        for _ in range(self._scalar("Q")):
            key = self._string()
            metadata[key] = value = self._value(self._scalar("I"))
            if isinstance(value, _Array):
                self._arrays[key] = value
        return metadata

    def numbers(self, key: str) -> tuple[Any, ...]:
        """Return the numbers of an array; empty if there is no such array."""
        array = self._arrays.get(key)
        if array is None or array.kind == _STRING:
            return ()
        return struct.unpack_from(f"<{array.count}{_SCALARS[array.kind]}", self._view, array.at)

    def longest(self, key: str) -> int:
        """Return the bytes of the longest string of an array; 0 if there is no such array."""
        array = self._arrays.get(key)
        return 0 if array is None else array.longest

    def strings(self, key: str, wanted: Collection[int]) -> dict[int, str]:
        """Return the wanted strings of an array, by index."""
        array, found = self._arrays.get(key), {}
        if array is None or array.kind != _STRING or not wanted:
            return {}
        self._at = array.at
        for number in range(min(array.count, max(wanted) + 1)):
            if number in wanted:
                found[number] = self._string()
            else:
                self._pass_bytes(self._scalar("Q"))
        return found

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

    def _pass_array(self) -> _Array:
        kind, count = self._scalar("I"), self._scalar("Q")
        array = _Array(kind, count, self._at)
        if kind != _STRING:
            self._pass_bytes(count * struct.calcsize("<" + _SCALARS[kind]))
            return array
        longest = 0
        for _ in range(count):
            length = self._scalar("Q")
            longest = max(longest, length)
            self._pass_bytes(length)
        return _Array(kind, count, array.at, longest)

    def _pass_bytes(self, count: int) -> None:
        self._at += count
        if self._at > len(self._view):
            raise IndexError
