"""A streamed answer: chunks as they arrive, or the whole answer with `final()`."""

import asyncio
import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from toolwire.client.answer import Chunk, Completion
from toolwire.client.errors import ConnectionFailed, StreamBroken
from toolwire.client.streaming.reader import ReadChunk, StreamReader, read_body
from toolwire.client.wire import read_chunk

if TYPE_CHECKING:
    import httpx2

END_SECONDS = 1.0
"""Seconds to wait for the end of the body after the answer, so the connection can be reused."""


class _Stream(ABC):
    """The base of both streams. `_chunks` are what `_read` yields."""

    _chunks: Any

    def __init__(
        self,
        response: "httpx2.Response",
        lost: Callable[[Exception], ConnectionFailed],
        read: ReadChunk = read_chunk,
    ) -> None:
        self._response = response
        self._lost = lost
        self._reader = StreamReader(as_events=_is_events(response), read=read)
        self._chunks = self._read()

    @abstractmethod
    def _read(self) -> Any: ...

    def _answer(self) -> Completion:
        return _with_headers(self._reader.answer(), self._response)

    def _broken(self, error: Exception) -> ConnectionFailed | StreamBroken:
        failure = self._lost(error)
        if type(failure) is ConnectionFailed:
            return StreamBroken(f"The stream ended before the answer did. {failure}")
        return failure


class Stream(_Stream):
    """A streamed answer. Iterate over it for chunks, over `text()` for text."""

    _chunks: Iterator[Chunk]

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks

    def __next__(self) -> Chunk:
        return next(self._chunks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def text(self) -> Iterator[str]:
        """The text of the answer, in pieces."""
        return (chunk.text for chunk in self if chunk.text)

    def final(self) -> Completion:
        """Read the rest; the whole answer, the same as without streaming."""
        for _ in self._chunks:
            pass
        return self._answer()

    def close(self) -> None:
        """Cancel the answer and close the connection."""
        self._response.close()

    def _read(self) -> Iterator[Chunk]:
        blocks = self._response.iter_bytes()
        try:
            for block in blocks:
                yield from self._reader.feed(block)
                if self._reader.done:
                    self._read_end(blocks)
                    return
            yield from self._reader.finish()
        except _transport_error() as error:
            raise self._broken(error) from error
        finally:
            self.close()

    def _read_end(self, blocks: Iterator[bytes]) -> None:
        """Read up to the end of the body, unless it does not come."""
        late = threading.Timer(END_SECONDS, _hang_up, [self._response])
        late.daemon = True
        late.start()
        with contextlib.suppress(_transport_error(), OSError):
            for _ in blocks:
                pass
        late.cancel()


class AsyncStream(_Stream):
    """A streamed answer. Iterate over it for chunks, over `text()` for text."""

    _chunks: AsyncIterator[Chunk]

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self._chunks

    async def __anext__(self) -> Chunk:
        return await anext(self._chunks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def text(self) -> AsyncIterator[str]:
        """The text of the answer, in pieces."""
        async for chunk in self:
            if chunk.text:
                yield chunk.text

    async def final(self) -> Completion:
        """Read the rest; the whole answer, the same as without streaming."""
        async for _ in self._chunks:
            pass
        return self._answer()

    async def aclose(self) -> None:
        """Cancel the answer and close the connection."""
        await self._response.aclose()

    async def _read(self) -> AsyncIterator[Chunk]:
        blocks = self._response.aiter_bytes()
        try:
            async for block in blocks:
                for chunk in self._reader.feed(block):
                    yield chunk
                if self._reader.done:
                    await self._read_end(blocks)
                    return
            for chunk in self._reader.finish():
                yield chunk
        except _transport_error() as error:
            raise self._broken(error) from error
        finally:
            await self.aclose()

    async def _read_end(self, blocks: AsyncIterator[bytes]) -> None:
        """Read up to the end of the body, unless it does not come."""
        with contextlib.suppress(_transport_error(), OSError, TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                async for _ in blocks:
                    pass


def read_whole(response: "httpx2.Response") -> Completion:
    """Read an answer that was requested without streaming."""
    return _with_headers(read_body(response.content), response)


def _with_headers(answer: Completion, response: "httpx2.Response") -> Completion:
    answer.__dict__["headers"] = response.headers
    return answer


def _is_events(response: "httpx2.Response") -> bool:
    """Whether to read events. If a stream was requested, anything not labeled JSON is one."""
    return "json" not in response.headers.get("content-type", "")


def _hang_up(response: "httpx2.Response") -> None:
    """Wake the thread that reads this response, by closing the connection."""
    stream: Any = response.extensions.get("network_stream")
    raw = stream.get_extra_info("socket") if stream is not None else None
    if raw is not None:
        with contextlib.suppress(OSError):
            raw.shutdown(socket.SHUT_RDWR)


def _transport_error() -> type[Exception]:
    import httpx2  # noqa: PLC0415 - loaded by now

    return httpx2.TransportError
