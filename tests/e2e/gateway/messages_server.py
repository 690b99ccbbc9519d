"""A scripted server with Anthropic's Messages API: reads a file, then says that it is done."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

KEY = "sk-ant-planted-0123456789"
OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}


class MessagesServer(ThreadingHTTPServer):
    """Remembers what it was asked. `status` other than 200 is an error for every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[Any] = []
        self.heads: list[dict[str, str]] = []
        self.status = 200
        self.breaks = False

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: MessagesServer

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        listed = [{"type": "model", "id": "claude-x", "display_name": "Claude X"}]
        self._send(200, {"data": listed, "has_more": False})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        self.server.heads.append({name.lower(): value for name, value in self.headers.items()})
        if self.path != "/v1/messages":
            error = {"type": "not_found_error", "message": "Not found"}
            self._send(404, {"type": "error", "error": error})
        elif self.server.status != 200:
            self._send(self.server.status, {"type": "error", "error": OVERLOADED})
        elif body.get("stream"):
            self._stream(_message(body))
        else:
            self._send(200, _message(body))

    def _send(self, status: int, value: Any) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, message: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in _events(message):
            kind = event["type"]
            if self.server.breaks and kind == "message_delta":
                time.sleep(0.2)  # in a read of its own
                event = {"type": "error", "error": OVERLOADED}  # noqa: PLW2901
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
            if event["type"] == "error":
                break
        self.close_connection = True


def _message(body: Any) -> Any:
    last = body["messages"][-1]["content"]
    if not isinstance(last, str) and any(block["type"] == "tool_result" for block in last):
        content, reason = [{"type": "text", "text": "Done."}], "end_turn"
    else:
        arguments = {"path": "notes.txt"}
        use = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": arguments}
        content, reason = [{"type": "text", "text": "I read it."}, use], "tool_use"
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90}
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
    return {**about, "content": content, "stop_reason": reason, "usage": usage}


def _events(message: Any) -> Iterator[Any]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        else:
            start, text = {**block, "input": {}}, json.dumps(block["input"])
            halves = (text[:7], text[7:])
            deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


@contextmanager
def messages_server() -> Iterator[MessagesServer]:
    """A server that runs until the block ends."""
    server = MessagesServer()
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
