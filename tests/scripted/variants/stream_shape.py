"""Variants of the stream's chunks and of the message around the calls."""

import copy
from typing import Any

from tests.scripted.chunks import Chunk, deltas
from tests.scripted.variants.base import Variant


class NoUsage(Variant, name="nousage"):
    """There are no usage figures at all, though they were asked for."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        kept = [chunk for chunk in chunks if chunk["choices"]]
        for chunk in kept:
            chunk.pop("usage", None)
        return kept

    def whole(self, body: Chunk) -> Chunk:
        return _without(body, "usage")


class UsageInFinish(Variant, name="usage_in_finish"):
    """The usage figures are in the chunk with the finish reason, not in one of their own."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        if chunks[-1]["choices"]:
            return chunks
        *kept, last = chunks
        kept[-1]["usage"] = last["usage"]
        return kept


class UsageEvery(Variant, name="usage_every"):
    """Every chunk has usage figures, growing, asked for or not."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        final = chunks[-1].get("usage") or {"prompt_tokens": 10}
        prompt = final["prompt_tokens"]
        for count, chunk in enumerate(chunks):
            figures = {"prompt_tokens": prompt, "completion_tokens": count}
            chunk["usage"] = chunk.get("usage") or {**figures, "total_tokens": prompt + count}
        return chunks


class UsageExtra(Variant, name="usage_extra"):
    """The usage object has details and unknown keys, and total_tokens is missing."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for chunk in chunks:
            self._enrich(chunk)
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        self._enrich(body)
        return body

    def _enrich(self, body: Chunk) -> None:
        if body.get("usage"):
            del body["usage"]["total_tokens"]
            body["usage"]["prompt_tokens_details"] = {"cached_tokens": 3}
            body["usage"]["queue_time"] = 0.25


class NoRole(Variant, name="norole"):
    """No delta has a role."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for delta in deltas(chunks):
            delta.pop("role", None)
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        del body["choices"][0]["message"]["role"]
        return body


class RoleEach(Variant, name="roleeach"):
    """Every delta has the role."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for delta in deltas(chunks):
            delta["role"] = "assistant"
        return chunks


class NoFinish(Variant, name="nofinish"):
    """No finish reason is ever given."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        return [chunk for chunk in chunks if not _finish(chunk)]

    def whole(self, body: Chunk) -> Chunk:
        body["choices"][0]["finish_reason"] = None
        return body


class FinishStop(Variant, name="finish_stop"):
    """The finish reason is `stop` even when there are calls."""

    reason = "stop"

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for chunk in chunks:
            if _finish(chunk):
                chunk["choices"][0]["finish_reason"] = self.reason
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        body["choices"][0]["finish_reason"] = self.reason
        return body


class LengthCut(FinishStop, name="lengthcut"):
    """The finish reason is `length` though the calls are complete."""

    reason = "length"


class FinishUnknown(FinishStop, name="finish_unknown"):
    """The finish reason is a word OpenAI does not have: `eos_token`."""

    reason = "eos_token"


class FinishMerged(Variant, name="finish_merged"):
    """The finish reason is in the last chunk that says something."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        place = next(i for i, chunk in enumerate(chunks) if _finish(chunk))
        reason = _finish(chunks.pop(place))
        chunks[place - 1]["choices"][0]["finish_reason"] = reason
        return chunks


class FinishAbsent(Variant, name="finish_absent"):
    """Chunks before the last have no `finish_reason` key at all."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for chunk in chunks:
            for choice in chunk["choices"]:
                if choice["finish_reason"] is None:
                    del choice["finish_reason"]
        return chunks


class ContentMissing(Variant, name="content_missing"):
    """The first delta, or the message, has no content key."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        chunks[0]["choices"][0]["delta"].pop("content")
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        message = body["choices"][0]["message"]
        if not message["content"]:
            del message["content"]
        return body


class ContentEmpty(Variant, name="content_empty"):
    """Content that says nothing is the empty string, in every delta of a call too."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for delta in deltas(chunks):
            delta["content"] = delta.get("content") or ""
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        message = body["choices"][0]["message"]
        message["content"] = message["content"] or ""
        return body


class ContentParts(Variant, name="content_parts"):
    """Content is a list of text parts instead of a string."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for delta in deltas(chunks):
            if delta.get("content"):
                delta["content"] = [{"type": "text", "text": delta["content"]}]
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        message = body["choices"][0]["message"]
        if message["content"]:
            message["content"] = [{"type": "text", "text": message["content"]}]
        return body


class EmptyChoicesFirst(Variant, name="emptychoices_first"):
    """A chunk without choices comes before the first."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        return [{**chunks[0], "choices": [], "prompt_filter_results": []}, *chunks]


class ExtraFields(Variant, name="extra_fields"):
    """There are unknown fields at every level."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        return [_enriched(chunk) for chunk in chunks]

    def whole(self, body: Chunk) -> Chunk:
        enriched: Chunk = _enriched(body)
        return enriched


class NoObject(Variant, name="noobject"):
    """Nothing says `object`."""

    key = "object"

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        return [_without(chunk, self.key) for chunk in chunks]

    def whole(self, body: Chunk) -> Chunk:
        return _without(body, self.key)


class NoId(NoObject, name="noid"):
    """Chunks and completions have no id."""

    key = "id"


class NoModel(NoObject, name="nomodel"):
    """Nothing names the model."""

    key = "model"


class NoChoiceIndex(Variant, name="nochoiceindex"):
    """The choice has no index."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for chunk in chunks:
            chunk["choices"] = [_without(choice, "index") for choice in chunk["choices"]]
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        return self.chunks([body])[0]


class IdChanges(Variant, name="id_changes"):
    """Every chunk has an id and a time of its own."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for number, chunk in enumerate(chunks):
            chunk["id"] += f"-{number}"
            chunk["created"] += number
        return chunks


class NullsEverywhere(Variant, name="nulls"):
    """Every delta names all its possible fields, null unless used."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        fields = ("role", "content", "tool_calls", "function_call", "refusal", "reasoning_content")
        for delta in deltas(chunks):
            delta.update({**dict.fromkeys(fields), **delta})
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        message = body["choices"][0]["message"]
        message.update({**dict.fromkeys(("tool_calls", "function_call", "refusal")), **message})
        return body


def _finish(chunk: Chunk) -> str | None:
    return chunk["choices"][0]["finish_reason"] if chunk["choices"] else None


def _without(body: Chunk, key: str) -> Chunk:
    return {name: value for name, value in body.items() if name != key}


def _enriched(value: Any) -> Any:
    if isinstance(value, dict):
        inner = {name: _enriched(item) for name, item in copy.copy(value).items()}
        return {**inner, "x_scripted": {"odd": True}}
    return [_enriched(item) for item in value] if isinstance(value, list) else value
