"""Conversations through real gateways: a backend that watches for mix-ups, and clients.

Every conversation has a marker. The backend finds it in the history and puts it into the call that
it makes; the client sends it back in the result. All conversations use the same provider ids, so
that a map that is shared by mistake shows at once.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

CHAT = "/native/v1/chat"
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look something up.",
        "parameters": {
            "type": "object",
            "properties": {"marker": {"type": "string"}, "turn": {"type": "integer"}},
            "required": ["marker", "turn"],
        },
    },
}


@dataclass
class Backend:
    """A model that calls the tool in every turn. `mixed` holds every history that is no one's."""

    port: int = 0
    asked: int = 0
    mixed: list[Any] = field(default_factory=list)
    hangs: set[str] = field(default_factory=set)
    """Markers of conversations that are not answered."""
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.serving.add(_this_task())
        try:
            while not self.ended.is_set():
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_length(head))
                writer.write(await self._answer(json.loads(body)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.CancelledError:
            pass  # at the end; asyncio would log it
        finally:
            self.serving.discard(_this_task())
            writer.close()

    async def _answer(self, body: dict[str, Any]) -> bytes:
        self.asked += 1
        messages = body["messages"]
        marker = str(messages[0]["content"])
        turn = 1 + sum(message["role"] == "assistant" for message in messages)
        if not _is_one(messages, marker):
            self.mixed.append(messages)
        if marker in self.hangs:
            self.hanging.set()
            await self.ended.wait()
        function = {
            "name": "look_up",
            "arguments": json.dumps({"marker": marker, "turn": turn}),
        }
        call = {"index": 0, "id": f"call_{turn}", "type": "function", "function": function}
        return _streamed(call) if body.get("stream") else _whole(call)


def _is_one(messages: list[dict[str, Any]], marker: str) -> bool:
    """Whether a history is that of one conversation, in its order."""
    turn = 0
    for message in messages[1:]:
        if message["role"] == "assistant":
            turn += 1
            (call,) = message["tool_calls"]
            expected = {"marker": marker, "turn": turn}
            good = call["id"] == f"call_{turn}"
            good = good and json.loads(call["function"]["arguments"]) == expected
        else:
            good = message["role"] == "tool" and message["tool_call_id"] == f"call_{turn}"
            good = good and json.loads(message["content"]) == {"marker": marker, "turn": turn}
        if not good:
            return False
    return len(messages) == 1 + 2 * turn


def _streamed(call: dict[str, Any]) -> bytes:
    about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    delta = {"role": "assistant", "content": None, "tool_calls": [call]}
    first = {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (first, last)) + "data: [DONE]\n\n"
    return _response(text.encode(), "text/event-stream")


def _whole(call: dict[str, Any]) -> bytes:
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return _response(json.dumps(body).encode(), "application/json")


def _response(body: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@asynccontextmanager
async def serving() -> AsyncIterator[Backend]:
    """A backend in this process."""
    backend = Backend()
    server = await asyncio.start_server(backend.serve, "127.0.0.1", 0, backlog=2048)
    backend.port = server.sockets[0].getsockname()[1]
    try:
        yield backend
    finally:
        server.close()
        backend.ended.set()
        for connection in [*Connection.opened]:
            connection.close()
        for task in [*backend.serving]:
            task.cancel()
        await asyncio.sleep(0.05)


def _this_task() -> "asyncio.Task[Any]":
    task = asyncio.current_task()
    assert task is not None
    return task


@dataclass(frozen=True)
class Reply:
    """A gateway's answer."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error."""
        return str(self.json["error"]["code"])

    @property
    def call(self) -> tuple[str, dict[str, Any]]:
        """The id and the arguments of the only call, streamed or whole."""
        if self.body.startswith(b"{"):
            (call,) = self.json["choices"][0]["message"]["tool_calls"]
        else:
            events = [
                json.loads(line[6:]) for line in self.body.splitlines() if line[:5] == b"data:"
            ]
            (call,) = [event["tool_call"] for event in events if event["type"] == "tool_call"]
        return call["id"], call["function"]["arguments"]


class Connection:
    """A connection to a gateway that is kept open, and opened again if it was lost."""

    opened: ClassVar[set["Connection"]] = set()

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self,
        path: str,
        body: Any = None,
        *,
        method: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request, and read the answer to its end."""
        data = b"" if body is None else json.dumps(body).encode()
        fields = {"host": "127.0.0.1", "content-length": str(len(data)), **(headers or {})}
        lines = [f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            self.opened.add(self)
        reader, writer = self._streams
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + data)
            head = await reader.readuntil(b"\r\n\r\n")
            content = await _content(reader, head)
        except BaseException:
            self.close()
            raise
        if b"connection: close" in head.lower():
            self.close()
        return Reply(int(head.split(b" ", 2)[1]), content)

    def close(self) -> None:
        """Close it."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
            self.opened.discard(self)


def _length(head: bytes) -> int:
    fields = dict(line.lower().split(b":", 1) for line in head.splitlines()[1:] if b":" in line)
    return int(fields.get(b"content-length", b"0"))


async def _content(reader: asyncio.StreamReader, head: bytes) -> bytes:
    if b"transfer-encoding: chunked" not in head.lower():
        return await reader.readexactly(_length(head))
    content = b""
    while size := int(await reader.readline(), 16):
        content += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return content


def first_turn(conversation_id: str, marker: str, **more: Any) -> dict[str, Any]:
    """The request that begins a conversation."""
    said = [{"role": "user", "content": marker}]
    about = {"model": "m", "conversation_id": conversation_id, "tools": [TOOL]}
    return {**about, "messages": said, **more}


def next_turn(conversation_id: str, call_id: str, result: Any, **more: Any) -> dict[str, Any]:
    """The request that brings a result."""
    results = [{"tool_call_id": call_id, "content": result}]
    return {"conversation_id": conversation_id, "tool_results": results, **more}
