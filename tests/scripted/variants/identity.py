"""Variants of what tells calls apart: index, id, type and name."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from tests.scripted.answer import Answer, Call
from tests.scripted.chunks import Chunk, call_deltas, call_id, is_head
from tests.scripted.request import ChatRequest
from tests.scripted.variants.base import Variant


class _Field(Variant):
    """Works on every call, in deltas and whole."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        head: Chunk = {}
        for call in call_deltas(chunks):
            if is_head(call):
                head = {**call, "function": dict(call["function"])}
            self.write(call, head)
        return chunks

    def write(self, call: Chunk, head: Chunk) -> None:
        """Change one delta; `head` is the first of its call, as it was."""
        raise NotImplementedError


class NoType(_Field, name="notype"):
    """Calls have no type."""

    def write(self, call: Chunk, head: Chunk) -> None:
        call.pop("type", None)

    def whole(self, body: Chunk) -> Chunk:
        for call in body["choices"][0]["message"].get("tool_calls", ()):
            del call["type"]
        return body


class NoIndex(_Field, name="noindex"):
    """Call deltas have no index."""

    def write(self, call: Chunk, head: Chunk) -> None:
        del call["index"]


class SharedIndex(_Field, name="shared_index"):
    """All calls have index 0."""

    def ask(self, request: ChatRequest) -> ChatRequest:
        return replace(request, width=2)

    def write(self, call: Chunk, head: Chunk) -> None:
        call["index"] = 0


class IndexGap(SharedIndex, name="index_gap"):
    """The indexes are 1, 4, 7 instead of 0, 1, 2."""

    def write(self, call: Chunk, head: Chunk) -> None:
        call["index"] = call["index"] * 3 + 1


class IndexText(_Field, name="index_text"):
    """The index is a string."""

    def write(self, call: Chunk, head: Chunk) -> None:
        call["index"] = str(call["index"])


class _Later(_Field):
    """The later deltas of a call carry its identity again, in some form."""

    values: ClassVar[Any] = None

    def write(self, call: Chunk, head: Chunk) -> None:
        if is_head(call):
            return
        identity = (head["id"], head["type"], head["function"]["name"])
        call["id"], call["type"], name = identity if self.values == "same" else [self.values] * 3
        call["function"]["name"] = name


class IdRepeat(_Later, name="idrepeat"):
    """Every delta of a call repeats its id, type and name."""

    values = "same"


class IdEmpty(_Later, name="idempty"):
    """The later deltas of a call have empty id, type and name."""

    values = ""


class IdNull(_Later, name="idnull"):
    """The later deltas of a call have null id, type and name."""


class NameRepeated(_Field, name="name_repeated"):
    """Every delta of a call repeats its name, and no more."""

    def write(self, call: Chunk, head: Chunk) -> None:
        call["function"]["name"] = head["function"]["name"]


class NameSplit(Variant, name="name_split"):
    """The name of a call comes in two halves, in its first two deltas."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        rest = ""
        for call in call_deltas(chunks):
            function = call["function"]
            if is_head(call):
                name = function["name"]
                function["name"], rest = name[: len(name) // 2], name[len(name) // 2 :]
            elif rest:
                function["name"], rest = rest, ""
        return chunks


class NameLate(Variant, name="name_late"):
    """The first delta of a call has its id alone; the name comes with the arguments."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        name = ""
        for call in call_deltas(chunks):
            if is_head(call):
                name = call["function"].pop("name")
            elif name:
                call["function"]["name"], name = name, ""
        return chunks


class CallIdField(_Field, name="callid"):
    """Call deltas have a `call_id` field beside the id."""

    def write(self, call: Chunk, head: Chunk) -> None:
        call["call_id"] = head["id"]


class _Ids(Variant):
    """Calls have ids of another form, the same ones streamed or not."""

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        renamed = (
            replace(call, id=self.make(call_id(call, request, index)))
            for index, call in enumerate(answer.calls)
        )
        return replace(answer, calls=tuple(renamed))

    def make(self, usual: str) -> str:
        """Make the odd id from the usual one."""
        raise NotImplementedError


class IdUuid(_Ids, name="id_uuid"):
    """Ids are `call_` and a UUID with hyphens."""

    def make(self, usual: str) -> str:
        digits = (usual.removeprefix("call_") + "0" * 32)[:32]
        return "call_" + "-".join(_cut(digits, 8, 4, 4, 4, 12))


class IdLong(_Ids, name="id_long"):
    """Ids are 97 characters long."""

    def make(self, usual: str) -> str:
        return (usual + "-" + "x" * 97)[:97]


class IdSame(_Ids, name="id_same"):
    """Every call of every turn has the same id."""

    def make(self, usual: str) -> str:
        return "call_0"


class IdDuplicate(IdSame, name="id_duplicate"):
    """Two calls of one turn have the same id."""

    def ask(self, request: ChatRequest) -> ChatRequest:
        return replace(request, width=2)

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        twin = call_id(answer.calls[0], request, 0) if answer.calls else ""
        calls = tuple(Call(call.name, call.args, twin) for call in answer.calls)
        return replace(answer, calls=calls)


class IdKimi(Variant, name="id_kimi"):
    """Ids are of Kimi's form: `functions.NAME:NUMBER`."""

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        made = sum(1 for _ in request.calls())
        calls = (
            replace(call, id=f"functions.{call.name}:{made + index}")
            for index, call in enumerate(answer.calls)
        )
        return replace(answer, calls=tuple(calls))


class IdMissing(Variant, name="id_missing"):
    """Calls have no id anywhere."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for call in call_deltas(chunks):
            call.pop("id", None)
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        for call in body["choices"][0]["message"].get("tool_calls", ()):
            del call["id"]
        return body


def _cut(text: str, *sizes: int) -> Iterator[str]:
    start = 0
    for size in sizes:
        yield text[start : start + size]
        start += size
