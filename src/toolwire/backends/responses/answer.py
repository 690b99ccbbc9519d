"""Decodes the bytes of a Responses API answer into fragments.

Items are announced, streamed and then sent whole. Some servers leave out one of these, so what a
finished item has beyond its deltas is added when it ends. Items and events of an unknown type are
skipped: they belong to tools that the server runs itself.
"""

from typing import Any

import msgspec

from toolwire.backends.base import Redact, clip
from toolwire.backends.body_decoder import BodyDecoder, check_count
from toolwire.backends.responses.wire import (
    WireDetails,
    WireEvent,
    WireItem,
    WirePart,
    WireResponse,
    WireUsage,
    decode_event,
    decode_response,
)
from toolwire.protocol.fragments import ENCRYPTED_REASONING, MOST_CALLS, CallFragment, Fragment
from toolwire.protocol.usage import TokenUsage, reported_usage

_PARAGRAPH = "\n\n"
_MOST_ITEMS = 4 * MOST_CALLS
_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}
_FAILED = ("failed", "cancelled")
_encode = msgspec.json.Encoder().encode
_decode_text = msgspec.json.Decoder(str).decode


class _Progress:
    """What has been received of one item."""

    def __init__(self, call: int | None = None, *, custom: bool = False) -> None:
        self.call = call
        """Its number among the calls, if it is one."""
        self.custom = custom
        self.length = 0
        """Characters of its text or arguments."""
        self.source = ""
        """The kind of event that its reasoning came from: summary and text would say it twice."""


class ResponsesDecoder(BodyDecoder):
    """Decodes one answer."""

    def __init__(self, *, max_line: int, streamed: bool = True, redact: Redact = clip) -> None:
        super().__init__(max_line=max_line, streamed=streamed, redact=redact)
        self._items: dict[str | int, _Progress] = {}
        """The items by id and by index: servers mix up one or the other."""
        self._call_ids: list[str | None] = []

    def _event(self, data: bytes) -> list[Fragment]:
        event = decode_event(data)
        read = _READERS.get(event.type)
        if read is not None:
            made = read(self, event)
            return [] if made is None else [made]
        if event.type == "response.output_item.done" and event.item is not None:
            return self._ended(event.output_index, event.item)
        if event.type in _ENDS:
            return self._end(event.response or WireResponse())
        return []

    def _whole(self, body: bytes) -> list[Fragment]:
        return self._end(decode_response(body))

    def _end(self, response: WireResponse) -> list[Fragment]:
        if response.error or response.status in _FAILED:
            raise self._failure(response.error)
        fragments = self._unsaid(response.output or [])
        self.done = True
        finish = "tool_calls" if self._call_ids else "stop"
        if response.status == "incomplete":
            details = response.incomplete_details or WireDetails()
            finish = _CUT.get(details.reason or "", "length")
        tier = response.service_tier
        about = (("service_tier", tier),) if tier else ()
        return [*fragments, Fragment(finish=finish, usage=_usage(response.usage), about=about)]

    def _unsaid(self, output: list[WireItem]) -> list[Fragment]:
        """Return what was not streamed: everything, or calls that were left out."""
        streamed, known = bool(self._items), set(self._call_ids)
        fragments: list[Fragment] = []
        for index, item in enumerate(output):
            left_out = item.type in _CALLS and item.call_id not in known
            if not streamed or left_out:
                fragments += self._ended(index, item)
        return fragments

    def _known(self, item_id: str | None, index: int) -> _Progress | None:
        return self._items.get(item_id or index)

    def _new(self, item_id: str | None, index: int, progress: _Progress) -> _Progress:
        check_count(len(self._items), _MOST_ITEMS, "items")
        self._items[index] = progress
        if item_id:
            self._items[item_id] = progress
        return progress

    def _progress(self, event: WireEvent) -> _Progress:
        """Return the item of a delta that is not about a call."""
        known = self._known(event.item_id, event.output_index)
        if known is None or known.call is not None:
            return self._new(event.item_id, event.output_index, _Progress())
        return known

    def _started(self, event: WireEvent) -> Fragment | None:
        item = event.item or WireItem()
        return self._call(event.output_index, item) if item.type in _CALLS else None

    def _call(self, index: int, item: WireItem) -> Fragment | None:
        """Announce a call, once."""
        known = self._known(item.id, index)
        if known is not None and known.call is not None:
            return None
        number = len(self._call_ids)
        check_count(number + 1, MOST_CALLS, "tool calls")
        self._call_ids.append(item.call_id)
        custom, said = item.type == "custom_tool_call", _arguments(item)
        progress = self._new(item.id, index, _Progress(number, custom=custom))
        progress.length = len(said)
        return Fragment(
            calls=(CallFragment(number, item.call_id, item.name, said or None, custom),)
        )

    def _more_arguments(self, event: WireEvent) -> Fragment | None:
        progress = self._known(event.item_id, event.output_index)
        progress = progress or self._items.get(event.output_index)
        if progress is None or progress.call is None or not isinstance(event.delta, str):
            return None
        progress.length += len(event.delta)
        piece = CallFragment(progress.call, None, None, event.delta, progress.custom)
        return Fragment(calls=(piece,))

    def _text(self, event: WireEvent) -> Fragment | None:
        if not isinstance(event.delta, str):
            return None
        self._progress(event).length += len(event.delta)
        return Fragment(text=event.delta, logprobs=_logprobs(event.logprobs))

    def _refusal(self, event: WireEvent) -> Fragment | None:
        if not isinstance(event.delta, str):
            return None
        self._progress(event).length += len(event.delta)
        return Fragment(extras=(("refusal", _encode(event.delta)),))

    def _reasoning(self, event: WireEvent) -> Fragment | None:
        progress = self._progress(event)
        progress.source = progress.source or event.type
        if progress.source != event.type or not isinstance(event.delta, str):
            return None
        progress.length += len(event.delta)
        return Fragment(reasoning=event.delta)

    def _paragraph(self, event: WireEvent) -> Fragment | None:
        """Separate the parts of a summary."""
        later = event.summary_index and self._progress(event).length
        return Fragment(reasoning=_PARAGRAPH) if later else None

    def _failed(self, event: WireEvent) -> Fragment:
        flat = {"code": event.code, "message": event.message}
        raise self._failure(event.error or flat)

    def _ended(self, index: int, item: WireItem) -> list[Fragment]:
        """Return what a whole item adds to what was streamed of it."""
        if item.type in _CALLS:
            return self._ended_call(index, item)
        progress = self._known(item.id, index)
        streamed = progress is not None and progress.length > 0
        self._new(item.id, index, progress or _Progress())
        if item.type == "reasoning":
            return _thought(item, streamed=streamed)
        if item.type == "message" and not streamed:
            return [_part(part) for part in item.content or ()]
        return []

    def _ended_call(self, index: int, item: WireItem) -> list[Fragment]:
        if (started := self._call(index, item)) is not None:
            return [started]
        progress = self._known(item.id, index)
        rest = _arguments(item)[progress.length :] if progress is not None else ""
        if progress is None or not rest:
            return []
        piece = CallFragment(progress.call, None, None, rest, progress.custom)
        return [Fragment(calls=(piece,))]


def _part(part: WirePart) -> Fragment:
    if part.type == "refusal":
        return Fragment(extras=(("refusal", _encode(part.refusal)),))
    return Fragment(text=part.text, logprobs=_logprobs(part.logprobs))


def _thought(item: WireItem, *, streamed: bool) -> list[Fragment]:
    text = "" if streamed else _PARAGRAPH.join(part.text for part in item.content or ())
    if not text and not streamed:
        text = _PARAGRAPH.join(part.text for part in item.summary or ())
    sealed = item.encrypted_content
    extras = ((ENCRYPTED_REASONING, _encode(sealed)),) if sealed else ()
    return [Fragment(reasoning=text, extras=extras)] if text or extras else []


def _arguments(item: WireItem) -> str:
    if item.type == "custom_tool_call":
        return item.input or ""
    raw = bytes(item.arguments)
    said = _decode_text(raw) if raw.startswith(b'"') else raw.decode()
    if said == "{}" and item.status in ("in_progress", "incomplete"):
        return ""  # a placeholder
    return "" if said == "null" else said


def _logprobs(entries: list[Any] | None) -> bytes:
    return _encode({"content": entries}) if entries else b""


def _usage(usage: WireUsage | None) -> TokenUsage | None:
    if usage is None:
        return None
    return reported_usage(
        usage.input_tokens,
        usage.output_tokens,
        usage.input_tokens_details,
        usage.output_tokens_details,
    )


_CALLS = ("function_call", "custom_tool_call")
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_READERS = {
    "response.output_text.delta": ResponsesDecoder._text,
    "response.function_call_arguments.delta": ResponsesDecoder._more_arguments,
    "response.custom_tool_call_input.delta": ResponsesDecoder._more_arguments,
    "response.reasoning_summary_text.delta": ResponsesDecoder._reasoning,
    "response.reasoning_text.delta": ResponsesDecoder._reasoning,
    "response.reasoning_summary_part.added": ResponsesDecoder._paragraph,
    "response.refusal.delta": ResponsesDecoder._refusal,
    "response.output_item.added": ResponsesDecoder._started,
    "error": ResponsesDecoder._failed,
}
"""Events that add one fragment, and how."""
