"""Answers in progress, on a connection to a server: decoded, or forwarded unchanged."""

import asyncio
from collections.abc import Callable

from toolwire.backends.base import FragmentListener
from toolwire.backends.body_decoder import BodyDecoder
from toolwire.backends.http import Connection, HttpPool
from toolwire.backends.openai.refusal import lasting
from toolwire.backends.steps import in_steps
from toolwire.errors import UpstreamTimeout
from toolwire.protocol.fragments import Fragment

_TOO_LARGE = "The backend's answer is larger than {} bytes (limits.answer_bytes)."


class OpenAiHttpAnswer:
    """One answer in progress."""

    __slots__ = ("_closed", "_connection", "_decoder", "_max_bytes", "_pool")

    def __init__(
        self, pool: HttpPool, connection: Connection, decoder: BodyDecoder, max_bytes: int
    ) -> None:
        self._pool = pool
        self._connection = connection
        self._decoder = decoder
        self._max_bytes = max_bytes
        self._closed = False

    async def relay(self, listener: FragmentListener) -> bool:
        """See `Answer.relay`."""
        decoder, connection, room = self._decoder, self._connection, self._max_bytes
        late: list[Fragment] = []

        def feed(block: bytes) -> None:
            nonlocal room
            if decoder.done:
                return
            room -= len(block)
            if room < 0:
                raise lasting(_TOO_LARGE.format(self._max_bytes))
            fragments = decoder.feed(block)
            if decoder.large:
                late.extend(fragments)  # and all that follows, to keep the order
                listener([])  # the backend is not silent
            elif fragments:
                listener(fragments)
            if decoder.done:
                # The answer is complete. Some servers then keep the connection open, or drop it.
                connection.enough()

        await connection.relay(feed)
        fragments = decoder.finish()
        if decoder.large:
            for part in in_steps([*late, *fragments]):
                listener([part])
                await asyncio.sleep(0)
        elif fragments:
            listener(fragments)
        return decoder.done

    def pause(self) -> None:
        """See `Answer.pause`. Once closed, the connection may already serve another answer."""
        if not self._closed:
            self._connection.pause()

    def resume(self) -> None:
        """See `Answer.resume`."""
        if not self._closed:
            self._connection.resume()

    def close(self) -> None:
        """See `Answer.close`."""
        self._closed = True
        self._pool.release(self._connection)


class RawHttpAnswer:
    """An answer that is forwarded unchanged. `idle` is its idle timeout."""

    def __init__(self, pool: HttpPool, connection: Connection, idle: float) -> None:
        self._pool = pool
        self._connection = connection
        self._idle = idle
        self.status = connection.head.status
        self.headers = connection.head.headers
        self.pause = connection.pause
        self.resume = connection.resume

    async def relay(self, listener: Callable[[bytes], None]) -> None:
        """Pass the body to `listener` as it arrives, until its end."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._idle) as silence:

                def feed(block: bytes) -> None:
                    silence.reschedule(loop.time() + self._idle)
                    listener(block)

                await self._connection.relay(feed)
        except TimeoutError:
            raise UpstreamTimeout(f"The backend was silent for {self._idle:g} s.") from None

    def close(self) -> None:
        """Release the connection. Before the end, this drops it."""
        self._pool.release(self._connection)
