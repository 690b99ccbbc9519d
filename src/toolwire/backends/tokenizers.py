"""Counts tokens with a model's own tokenizer: its `tokenizer.json`, or the server's `/tokenize`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Protocol, TypeAlias, runtime_checkable

import msgspec

from toolwire.errors import UpstreamError
from toolwire.extras import how_to_install

SERVER = "server"
"""The setting that lets the server count, instead of a path."""
_MISSING = f"it needs the package `tokenizers`: {how_to_install('tokenizers')}"


class NoTokenizer(Exception):
    """No tokenizer is available. The message says why."""


@runtime_checkable
class Tokenizing(Protocol):
    """A backend whose server may count the tokens of texts."""

    @property
    def name(self) -> str:
        """The backend's name."""
        ...

    @property
    def tokenizes(self) -> bool:
        """Whether it is known to."""
        ...

    async def tokenize(self, text: str, model: str) -> int:
        """Return the number of tokens in a text. Raises `UpstreamError`."""
        ...


class FileTokenizer:
    """Counts with a `tokenizer.json`, off the event loop."""

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        self._encode = encode

    async def count(self, texts: Sequence[str], *, backend: str, model: str) -> list[int]:  # noqa: ARG002
        """See `TokenCounter.count`."""
        return await asyncio.to_thread(lambda: [len(self._encode(text)) for text in texts])


def open_tokenizer(path: Path) -> FileTokenizer:
    """Open the tokenizer in a file. Raises `NoTokenizer`."""
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  # an extra
    except ImportError:
        raise NoTokenizer(_MISSING) from None
    if not path.is_file():
        raise NoTokenizer(f"there is no file {path}")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001  # the library raises nothing more specific
        raise NoTokenizer(f"{path} is not a tokenizer.json: {error}") from None

    def encode(text: str) -> Sequence[int]:
        ids: Sequence[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    return FileTokenizer(encode)


class ServerTokenizer:
    """Asks the server that generated the answer."""

    def __init__(self, servers: Mapping[str, Tokenizing]) -> None:
        self._servers = servers

    async def count(self, texts: Sequence[str], *, backend: str, model: str) -> list[int]:
        """See `TokenCounter.count`."""
        server = self._servers.get(backend)
        if server is None:
            raise UpstreamError(f"The backend '{backend}' does not count tokens.")
        return [await server.tokenize(text, model) if text else 0 for text in texts]


def server_tokenizer(backend: object) -> ServerTokenizer | None:
    """Return a counter that asks this backend, if it is known to count tokens."""
    if isinstance(backend, Tokenizing) and backend.tokenizes:
        return ServerTokenizer({backend.name: backend})
    return None


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
"""A number of tokens that a server may report."""


class _Piece(msgspec.Struct, gc=False):
    """A token of llama.cpp, if it was asked for the pieces."""

    id: int


class _Counted(msgspec.Struct):
    count: Count | None = None
    tokens: list[int | _Piece] | None = None  # nothing larger: there may be millions


_decode = msgspec.json.Decoder(_Counted).decode


def tokenize_body(text: str, model: str) -> bytes:
    """Encode the body of `/tokenize`: vLLM and SGLang read `prompt`, llama.cpp `content`."""
    fields = {"model": model, "prompt": text, "content": text, "add_special_tokens": False}
    return msgspec.json.encode({**fields, "add_special": False})


def read_count(body: bytes) -> int:
    """Read the number of tokens from the response. Raises `ValueError`."""
    counted = _decode(body)
    if counted.count is not None:
        return counted.count
    if counted.tokens is None:
        raise ValueError("there is neither 'count' nor 'tokens'")
    return len(counted.tokens)
