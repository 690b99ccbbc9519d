"""Converts the events of a turn to output items, and to the stream events about them.

Streamed and whole answers are both built here, so they cannot differ. One item is open at a time.
Its id is the same wherever it appears.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, assert_never

from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    Extra,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.fragments import ENCRYPTED_REASONING
from toolwire.protocol.json_numbers import decode_any
from toolwire.surfaces.responses.kinds import KINDS, Fields, WireTool
from toolwire.surfaces.responses.output.json_string import InputReader
from toolwire.surfaces.responses.output.logprobs import read_logprobs
from toolwire.surfaces.responses.output.writer import EventWriter, encoded_once
from toolwire.surfaces.responses.reasoning import seal
from toolwire.surfaces.responses.request.tools import OfferedTools

Status: TypeAlias = Literal["completed", "incomplete"]
_CUT: tuple[FinishReason, ...] = ("length", "content_filter")
_ADDED, _DONE = "response.output_item.added", "response.output_item.done"
_EXTRAS = ("refusal", ENCRYPTED_REASONING)
_DURING_A_CALL = (ArgsDelta, CallEnd, TurnEnd)
"""Events that do not wait for the end of a call."""


class _Message:
    """A message in progress."""

    def __init__(self, writer: EventWriter, item_id: str, index: int) -> None:
        self._writer, self._id, self._index = writer, item_id, index
        self._parts: list[Fields] = []
        self._text: list[str] = []
        self._logprobs: list[Any] = []
        self._template = b""
        if writer.live:
            writer.event(_ADDED, {"output_index": index, "item": self._item("in_progress")})

    def add(self, kind: str, text: str, logprobs: bytes = b"") -> None:
        """Add the next piece of text, or of a refusal."""
        if not self._parts or self._parts[-1]["type"] != kind:
            self._open(kind)
        self._text.append(text)
        if logprobs:
            entries = read_logprobs(logprobs)
            self._logprobs += entries
            fields = {**self._place(), "delta": text, "logprobs": entries}
            self._writer.event("response.output_text.delta", fields)
        else:
            self._writer.delta(self._template, text)

    def _open(self, kind: str) -> None:
        self._close_part()
        part = _blank_part(kind)
        self._parts.append(part)
        if self._writer.live:
            place, tail = self._place(), b',"logprobs":[]' if kind == "output_text" else b""
            self._writer.event("response.content_part.added", {**place, "part": part})
            self._template = self._writer.template(f"response.{kind}.delta", place, tail)

    def _close_part(self) -> None:
        if not self._parts:
            return
        text, part = encoded_once("".join(self._text)), self._parts[-1]
        said: Fields = {"refusal": text}
        if part["type"] == "output_text":
            said = {"text": text, "logprobs": self._logprobs}
        self._parts[-1] = part = {**part, **said}
        self._text, self._logprobs = [], []
        if self._writer.live:
            place = self._place()
            self._writer.event(f"response.{part['type']}.done", {**place, **said})
            self._writer.event("response.content_part.done", {**place, "part": part})

    def close(self, status: Status) -> Fields:
        """The whole item."""
        if not self._parts:
            self._open("output_text")
        self._close_part()
        item = self._item(status)
        if self._writer.live:
            self._writer.event(_DONE, {"output_index": self._index, "item": item})
        return item

    def _place(self) -> Fields:
        at = len(self._parts) - 1
        return {"item_id": self._id, "output_index": self._index, "content_index": at}

    def _item(self, status: str) -> Fields:
        return {
            "id": self._id,
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": list(self._parts),
        }


class _Reasoning:
    """Reasoning in progress. It is sent as the summary, which clients display."""

    def __init__(self, writer: EventWriter, item_id: str, index: int, *, sealed: bool) -> None:
        self._writer, self._id, self._index = writer, item_id, index
        self._sealed = sealed
        self.encrypted: str | None = None
        """The backend's own encrypted reasoning, if there is one."""
        self._text: list[str] = []
        self._template = b""
        if writer.live:
            item = self._item([], None, "in_progress")
            writer.event(_ADDED, {"output_index": index, "item": item})

    def add(self, text: str) -> None:
        """The next piece."""
        if not self._text and self._writer.live:
            place, part = self._place(), {"type": "summary_text", "text": ""}
            self._writer.event("response.reasoning_summary_part.added", {**place, "part": part})
            kind = "response.reasoning_summary_text.delta"
            self._template = self._writer.template(kind, place)
        self._text.append(text)
        self._writer.delta(self._template, text)

    def close(self, status: Status) -> Fields:
        """The whole item."""
        text = "".join(self._text)
        sealed = seal(text) if self._sealed and self.encrypted is None else self.encrypted
        shown = encoded_once(text)
        part = {"type": "summary_text", "text": shown}
        item = self._item([part] if text else [], sealed, status)
        if self._writer.live:
            place, event = self._place(), self._writer.event
            if text:
                event("response.reasoning_summary_text.done", {**place, "text": shown})
                event("response.reasoning_summary_part.done", {**place, "part": part})
            event(_DONE, {"output_index": self._index, "item": item})
        return item

    def _place(self) -> Fields:
        return {"item_id": self._id, "output_index": self._index, "summary_index": 0}

    def _item(self, summary: list[Fields], sealed: str | None, status: str) -> Fields:
        return {
            "id": self._id,
            "type": "reasoning",
            "status": status,
            "summary": summary,
            "content": None,
            "encrypted_content": sealed,
        }


class _Call:
    """A call in progress."""

    def __init__(
        self, writer: EventWriter, item_id: str, index: int, tool: WireTool, call_id: str
    ) -> None:
        self._writer, self._id, self._index = writer, item_id, index
        self._tool, self._call_id = tool, call_id
        self._kind = KINDS[tool.kind]
        self._json: list[str] = []
        self._sent: list[str] = []
        self._input = InputReader() if tool.kind == "custom" else None
        self._template = b""
        if self._kind.streamed and writer.live:
            place = {"item_id": item_id, "output_index": index}
            self._template = writer.template(f"{self._kind.streamed}.delta", place)
            item = self._item({self._kind.needs: ""}, "in_progress")
            writer.event(_ADDED, {"output_index": index, "item": item})

    def add(self, json: str) -> None:
        """Add the next piece of its arguments."""
        self._json.append(json)
        if not self._template:
            return
        text = json if self._input is None else self._input.feed(json)
        if text:
            self._sent.append(text)
            self._writer.delta(self._template, text)

    def close(self, status: Status) -> Fields:
        """Return the whole item. An incomplete call is not sent as done, because clients would run
        it."""
        fields = self._kind.write("".join(self._json))
        item = self._item(fields, status)
        if status == "completed" and self._writer.live:
            self._finish(fields, item)
        return item

    def _finish(self, fields: Fields, item: Fields) -> None:
        index, event = self._index, self._writer.event
        if self._kind.streamed:
            whole, sent = fields[self._kind.needs], "".join(self._sent)
            if whole.startswith(sent) and len(whole) > len(sent):
                self._writer.delta(self._template, whole[len(sent) :])
            place = {"item_id": self._id, "output_index": index}
            event(f"{self._kind.streamed}.done", {**place, **fields, **self._done_name()})
        else:
            event(_ADDED, {"output_index": index, "item": {**item, "status": "in_progress"}})
        event(_DONE, {"output_index": index, "item": item})

    def _done_name(self) -> Fields:
        return {"name": self._tool.name} if self._tool.kind == "function" else {}

    def _item(self, fields: Fields, status: str) -> Fields:
        named: Fields = {"name": self._tool.name} if self._kind.named else {}
        if self._tool.namespace:
            named["namespace"] = self._tool.namespace
        head = {"id": self._id, "type": self._kind.item, "status": status}
        return {**head, "call_id": self._call_id, **named, **fields}


class Output:
    """The output of one response."""

    def __init__(
        self,
        writer: EventWriter,
        tools: OfferedTools,
        new_id: Callable[[str], str],
        *,
        sealed: bool,
    ) -> None:
        self.items: list[Fields] = []
        """The finished items, in order."""
        self.characters = 0
        self.cut: Literal["max_output_tokens", "content_filter"] | None = None
        """Why the response is incomplete, if it is."""
        self._writer = writer
        self._tools = tools
        self._new_id = new_id
        self._sealed = sealed
        self._open: _Message | _Reasoning | _Call | None = None
        self._held: list[Event] | None = None
        """Events that arrived during a call: only one item is open at a time."""
        self._late: list[Event] = []
        self._reason: FinishReason = "stop"

    def feed(self, events: Sequence[Event]) -> None:
        """Process the next events."""
        for event in events:
            if self._held is not None and not isinstance(event, _DURING_A_CALL):
                self._held.append(event)
                continue
            match event:
                case ArgsDelta(_, json):
                    self.characters += len(json)
                    if isinstance(self._open, _Call):
                        self._open.add(json)
                case TextDelta(text, logprobs):
                    self.characters += len(text)
                    self._message().add("output_text", text, logprobs)
                case ReasoningDelta(text):
                    self.characters += len(text)
                    self._reasoning().add(text)
                case CallStart():
                    self._start(event)
                case CallEnd(_, complete):
                    self._end(complete=complete)
                case Extra(name, raw):
                    self._extra(name, raw)
                case TurnEnd(reason):
                    self._reason = reason
                case _:
                    assert_never(event)

    @property
    def begun(self) -> bool:
        """Whether there is any output, so the turn cannot be restarted."""
        return self._open is not None or bool(self.items)

    def finish(self) -> None:
        """End the turn, and close the open item."""
        was_cut = self._reason in _CUT
        open_item = self._open
        if isinstance(open_item, _Call):
            self._close("incomplete" if was_cut else "completed")
            self._release()
        elif open_item is None and self.items:
            was_cut = self._reason == "content_filter"  # complete calls, and nothing after them
        elif isinstance(open_item, _Reasoning):
            self._close("completed")
            self._message()
        elif open_item is None:
            self._message()
        if self._open is not None:
            self._close("incomplete" if was_cut else "completed")
        if was_cut:
            self.cut = "content_filter" if self._reason == "content_filter" else "max_output_tokens"

    def _message(self) -> _Message:
        if not isinstance(self._open, _Message):
            self._close()
            self._open = _Message(self._writer, self._new_id("msg_"), len(self.items))
        return self._open

    def _reasoning(self) -> _Reasoning:
        if not isinstance(self._open, _Reasoning) or self._open.encrypted is not None:
            self._close()
            self._open = _Reasoning(
                self._writer, self._new_id("rs_"), len(self.items), sealed=self._sealed
            )
        return self._open

    def _start(self, event: CallStart) -> None:
        self._close()
        self._release()
        self._close()
        tool = self._tools.wire.get(event.name) or WireTool("function", event.name)
        item_id = self._new_id(KINDS[tool.kind].prefix)
        self._open = _Call(self._writer, item_id, len(self.items), tool, event.call_id)
        self._held = []

    def _end(self, *, complete: bool) -> None:
        self._late += self._held or ()
        self._held = None
        if complete:
            self._close()
            self._release()

    def _release(self) -> None:
        """Process the events that waited for the end of a call."""
        late, self._late = self._late, []
        if late:
            self.feed(late)

    def _extra(self, name: str, raw: bytes) -> None:
        """Handle other fields. Most have no equivalent in this API."""
        said = decode_any(raw) if name in _EXTRAS else None
        if not isinstance(said, str) or not said:
            return
        if name == ENCRYPTED_REASONING:
            if self._sealed:
                self._reasoning().encrypted = said
            return
        self.characters += len(said)
        self._message().add("refusal", said)

    def _close(self, status: Status = "completed") -> None:
        if self._open is not None:
            self.items.append(self._open.close(status))
            self._open = None


def _blank_part(kind: str) -> Fields:
    if kind == "refusal":
        return {"type": kind, "refusal": ""}
    return {"type": kind, "text": "", "annotations": [], "logprobs": []}
