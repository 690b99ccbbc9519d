"""A scripted server with OpenAI's Responses API and no other: reads a file, then says that it is
done."""

from collections.abc import Iterator
from typing import Any, ClassVar

from tests.e2e.gateway.api_server import ApiServer

KEY = "sk-planted-responses-0123456789"
BUSY = {"code": "server_is_overloaded", "message": "Overloaded", "type": "server_error"}
SEALED = "gAAAA-sealed"
THOUGHT = "I should read it."


class ResponsesServer(ApiServer):
    """See `ApiServer`. `cut` ends every answer at its token limit."""

    path = "/v1/responses"
    models: ClassVar[Any] = {"object": "list", "data": [{"id": "gpt-x", "object": "model"}]}
    breaks_at = "response.completed"

    def reset(self) -> None:
        super().reset()
        self.cut = False

    def error(self, *, found: bool) -> Any:
        return {"error": BUSY if found else {"message": "Not found", "type": "invalid_request"}}

    def broken(self) -> Any:
        return {**BUSY, "type": "error", "sequence_number": 99, "param": None}

    def answer(self, body: Any) -> Any:
        items = body["input"]
        sealed = "reasoning.encrypted_content" in body.get("include", ())
        if items[-1]["type"] == "function_call_output":
            output = [_message("Done.")]
        else:
            call = {"call_id": "call_1", "name": "read_file", "arguments": '{"path": "notes.txt"}'}
            said = {"type": "function_call", "id": "fc_1", "status": "completed", **call}
            output = [_thought(sealed=sealed), _message("I read it."), said]
        usage = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 90},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 105,
        }
        about = {"id": "resp_1", "object": "response", "model": body["model"], "error": None}
        ended: dict[str, Any] = {"status": "completed", "incomplete_details": None}
        if self.cut:
            ended = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        return {**about, **ended, "output": output, "usage": usage}

    def events(self, answer: Any) -> Iterator[Any]:
        begun = {**answer, "status": "in_progress", "output": [], "usage": None}
        for kind in ("response.created", "response.in_progress"):
            yield {"type": kind, "response": begun}
        for index, item in enumerate(answer["output"]):
            at = {"output_index": index, "item_id": item["id"]}
            yield {"type": "response.output_item.added", **at, "item": {**item, **_BLANK}}
            yield from ({**at, **event} for event in _PIECES[item["type"]](item))
            yield {"type": "response.output_item.done", **at, "item": item}
        yield {"type": "response.keepalive"}
        yield {"type": f"response.{answer['status']}", "response": answer}


_BLANK: dict[str, Any] = {"arguments": "", "content": [], "summary": [], "status": "in_progress"}


def _message(text: str) -> Any:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {**head, "content": [part]}


def _thought(*, sealed: bool) -> Any:
    summary = [{"type": "summary_text", "text": THOUGHT}]
    blob = SEALED if sealed else None
    return {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": blob}


def _text_events(item: Any) -> Iterator[Any]:
    (part,) = item["content"]
    yield {"type": "response.content_part.added", "content_index": 0, "part": {**part, "text": ""}}
    for piece in (part["text"][:3], part["text"][3:]):
        yield {"type": "response.output_text.delta", "content_index": 0, "delta": piece}
    yield {"type": "response.output_text.done", "content_index": 0, "text": part["text"]}
    yield {"type": "response.content_part.done", "content_index": 0, "part": part}


def _call_events(item: Any) -> Iterator[Any]:
    for piece in (item["arguments"][:7], item["arguments"][7:]):
        yield {"type": "response.function_call_arguments.delta", "delta": piece}
    done = {"name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **done}


def _thought_events(_item: Any) -> Iterator[Any]:
    yield {"type": "response.reasoning_summary_part.added", "summary_index": 0}
    kind = "response.reasoning_summary_text.delta"
    yield {"type": kind, "summary_index": 0, "delta": THOUGHT}


_PIECES = {
    "message": _text_events,
    "function_call": _call_events,
    "reasoning": _thought_events,
}
