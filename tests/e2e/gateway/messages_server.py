"""A scripted server with Anthropic's Messages API: reads a file, then says that it is done."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from tests.e2e.gateway.api_server import ApiServer

KEY = "sk-ant-planted-0123456789"
OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}


class MessagesServer(ApiServer):
    """See `ApiServer`. `says` is a text to say instead."""

    path = "/v1/messages"
    models: ClassVar[Any] = {
        "data": [{"type": "model", "id": "claude-x", "display_name": "Claude X"}],
        "has_more": False,
    }
    breaks_at = "message_delta"

    def error(self, *, found: bool) -> Any:
        missing = {"type": "not_found_error", "message": "Not found"}
        return {"type": "error", "error": OVERLOADED if found else missing}

    def broken(self) -> Any:
        return {"type": "error", "error": OVERLOADED}

    def reset(self) -> None:
        super().reset()
        self.says = ""

    def answer(self, body: Any) -> Any:
        last = body["messages"][-1]["content"]
        if not body["max_tokens"]:
            content, reason = [], "max_tokens"
        elif self.says:
            content, reason = [{"type": "text", "text": self.says}], "end_turn"
        elif not isinstance(last, str) and any(block["type"] == "tool_result" for block in last):
            content, reason = [{"type": "text", "text": "Done."}], "end_turn"
        else:
            arguments = {"path": "notes.txt"}
            use = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": arguments}
            content, reason = [{"type": "text", "text": "I read it."}, use], "tool_use"
        usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90}
        about = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
        return {**about, "content": content, "stop_reason": reason, "usage": usage}

    def events(self, answer: Any) -> Iterator[Any]:
        yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
        yield {"type": "ping"}
        for index, block in enumerate(answer["content"]):
            yield from _block(index, block)
        delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": answer["usage"]}
        yield {"type": "message_stop"}


def _block(index: int, block: Any) -> Iterator[Any]:
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
