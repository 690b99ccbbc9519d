"""Variants of how calls are cut into deltas and how their arguments are written."""

import json
from collections import defaultdict
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from tests.scripted.chunks import Chunk, call_deltas, deltas, is_head
from tests.scripted.request import ChatRequest
from tests.scripted.variants.base import Variant


class OneChunk(Variant, name="onechunk"):
    """Each call is whole in one delta."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        return _whole_calls(chunks)


class ArgsObj(Variant, name="args_obj"):
    """`arguments` is an object instead of a string."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        whole = _whole_calls(chunks)
        for call in call_deltas(whole):
            call["function"]["arguments"] = _value(call["function"]["arguments"])
        return whole

    def whole(self, body: Chunk) -> Chunk:
        for call in _calls(body):
            call["function"]["arguments"] = _value(call["function"]["arguments"])
        return body


class ArgsNullFirst(Variant, name="args_null_first"):
    """The first delta of a call has null arguments."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for call in call_deltas(chunks):
            if is_head(call):
                call["function"]["arguments"] = None
        return chunks


class ArgsNull(Variant, name="args_null"):
    """The arguments of every call are null, whatever the model meant."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        heads = _only_heads(chunks)
        for call in call_deltas(heads):
            call["function"]["arguments"] = None
        return heads

    def whole(self, body: Chunk) -> Chunk:
        for call in _calls(body):
            call["function"]["arguments"] = None
        return body


class ArgsAbsent(Variant, name="args_absent"):
    """Calls have no `arguments` key, whatever the model meant."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        heads = _only_heads(chunks)
        for call in call_deltas(heads):
            del call["function"]["arguments"]
        return heads

    def whole(self, body: Chunk) -> Chunk:
        for call in _calls(body):
            del call["function"]["arguments"]
        return body


class ArgsTwice(Variant, name="args_twice"):
    """The arguments come in deltas, and then the whole of them again."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        ends = {call["index"]: chunk for chunk in chunks for call in call_deltas([chunk])}
        for whole in _joined_calls(chunks):
            index, function = whole["index"], whole["function"]
            again = {"index": index, "function": {"arguments": function["arguments"]}}
            place = next(i for i, chunk in enumerate(chunks) if chunk is ends[index])
            chunks.insert(place + 1, _like(ends[index], {"tool_calls": [again]}))
        return chunks


class _NoArgs(Variant):
    """A call without arguments is written in its own way; the script is asked to make one."""

    def ask(self, request: ChatRequest) -> ChatRequest:
        return replace(request, wants_bare_call=True)

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        bare = [call for call in _joined_calls(chunks) if call["function"]["arguments"] == "{}"]
        places = {call["index"] for call in bare}
        kept = [chunk for chunk in chunks if not _is_tail(chunk, places)]
        for call in call_deltas(kept):
            if call["index"] in places:
                self.write(call["function"])
        return kept

    def whole(self, body: Chunk) -> Chunk:
        for call in _calls(body):
            if call["function"]["arguments"] == "{}":
                self.write(call["function"])
        return body

    def write(self, function: Chunk) -> None:
        """Write the empty arguments into the call's only delta."""
        raise NotImplementedError


class NoArgsEmpty(_NoArgs, name="noargs_empty"):
    """A call without arguments has the empty string."""

    def write(self, function: Chunk) -> None:
        function["arguments"] = ""


class NoArgsObj(_NoArgs, name="noargs_obj"):
    """A call without arguments has `{}`, in its first and only delta."""

    def write(self, function: Chunk) -> None:
        function["arguments"] = "{}"


class NoArgsMissing(_NoArgs, name="noargs_missing"):
    """A call without arguments has no `arguments` key."""

    def write(self, function: Chunk) -> None:
        del function["arguments"]


class ParallelInterleaved(Variant, name="parallel_interleaved"):
    """Several calls in one turn, their deltas taking turns."""

    def ask(self, request: ChatRequest) -> ChatRequest:
        return replace(request, width=2)

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        lanes: dict[int, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            for call in call_deltas([chunk]):
                lanes[call["index"]].append(chunk)
        mixed = [chunk for row in zip_longest(*lanes.values()) for chunk in row if chunk]
        places = [place for place, chunk in enumerate(chunks) if any(call_deltas([chunk]))]
        for place, chunk in zip(places, mixed, strict=True):
            chunks[place] = chunk
        return chunks


class CallsInOneDelta(Variant, name="calls_in_one_delta"):
    """Several calls in one turn, whole, all in one delta."""

    def ask(self, request: ChatRequest) -> ChatRequest:
        return replace(request, width=2)

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        whole = _whole_calls(chunks)
        calls = list(call_deltas(whole))
        with_calls = [chunk for chunk in whole if any(call_deltas([chunk]))]
        for chunk in with_calls[:1]:
            chunk["choices"][0]["delta"]["tool_calls"] = calls
        return [chunk for chunk in whole if chunk not in with_calls[1:]]


class LegacyFunctionCall(Variant, name="legacy_function_call"):
    """A call is the old `function_call` field, without id and index."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for delta in deltas(chunks):
            for call in delta.pop("tool_calls", ()):
                delta["function_call"] = call["function"]
        return [_legacy_finish(chunk) for chunk in chunks]

    def whole(self, body: Chunk) -> Chunk:
        message = body["choices"][0]["message"]
        for call in message.pop("tool_calls", ()):
            message["function_call"] = call["function"]
        return _legacy_finish(body)


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _legacy_finish(body: Chunk) -> Chunk:
    for choice in body["choices"]:
        if choice["finish_reason"] == "tool_calls":
            choice["finish_reason"] = "function_call"
    return body


def _calls(body: Chunk) -> list[Chunk]:
    calls: list[Chunk] = body["choices"][0]["message"].get("tool_calls", [])
    return calls


def _joined_calls(chunks: list[Chunk]) -> list[Chunk]:
    """The calls of a stream, each joined from its deltas."""
    joined: dict[int, Chunk] = {}
    for call in call_deltas(chunks):
        if is_head(call):
            joined[call["index"]] = {**call, "function": dict(call["function"])}
        else:
            function = joined[call["index"]]["function"]
            function["arguments"] += call["function"]["arguments"]
    return list(joined.values())


def _only_heads(chunks: list[Chunk]) -> list[Chunk]:
    return [chunk for chunk in chunks if all(map(is_head, call_deltas([chunk])))]


def _whole_calls(chunks: list[Chunk]) -> list[Chunk]:
    """Drop the later deltas of every call and put all its arguments into the first."""
    joined = {call["index"]: call for call in _joined_calls(chunks)}
    heads = _only_heads(chunks)
    for call in call_deltas(heads):
        call["function"] = joined[call["index"]]["function"]
    return heads


def _is_tail(chunk: Chunk, places: set[int]) -> bool:
    return any(not is_head(call) and call["index"] in places for call in call_deltas([chunk]))


def _like(chunk: Chunk, delta: Chunk) -> Chunk:
    return {**chunk, "choices": [{**chunk["choices"][0], "delta": delta}]}
