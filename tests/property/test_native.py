"""However a backend writes its calls, the same calls come out, streamed or not."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st
from tests.contract.chatting import Client
from tests.contract.joining import join, same, whole
from tests.contract.wire import body, read

from toolwire.errors import UpstreamError
from toolwire.gateway.answer.native import NativeReader
from toolwire.gateway.answer.native_call import NativeCall, as_text
from toolwire.gateway.answer.policy import Policy
from toolwire.gateway.context import RequestContext
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta, TurnEnd
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.tools import ToolChoice
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.openai.chunks import ChunkEncoder, CompletionHead
from toolwire.surfaces.openai.sinks import ChatStreamSink, ChatWholeSink

TOOLS = ("read", "write", "get", "get_weather", "look_up")
Call = tuple[str, str]


@dataclass(frozen=True)
class Manner:
    """How one backend writes calls, right or wrong."""

    index: Literal["right", "gapped", "shared", "absent"]
    ids: Literal["first", "every", "absent", "one", "fresh"]
    name: Literal["first", "every", "halves", "growing", "late"]
    arguments: Literal["pieces", "object", "null first", "twice"]
    interleaved: bool

    def can_be_told(self) -> bool:
        """Whether anyone could find out what was meant."""
        tells = self.index in ("right", "gapped")
        if self.interleaved and not (tells or self.ids == "every"):
            return False
        if self.ids == "fresh" and (self.name != "first" or self.arguments == "twice"):
            return False
        if self.name == "late" and self.ids not in ("first", "every"):
            return False
        return not (self.arguments == "twice" and self.name == "every" and self.ids != "every")


manners = st.builds(
    Manner,
    index=st.sampled_from(["right", "gapped", "shared", "absent"]),
    ids=st.sampled_from(["first", "every", "absent", "one", "fresh"]),
    name=st.sampled_from(["first", "every", "halves", "growing", "late"]),
    arguments=st.sampled_from(["pieces", "object", "null first", "twice"]),
    interleaved=st.booleans(),
).filter(Manner.can_be_told)
values = st.text(alphabet='a{}[]"\\,: é\n', max_size=8) | st.integers(-9, 9) | st.lists(st.none())
arguments = st.dictionaries(st.sampled_from(["a", "b", "é"]), values, max_size=2).map(json.dumps)
calls = st.lists(st.tuples(st.sampled_from(TOOLS), arguments), max_size=4)
cuts = st.lists(st.integers(0, 60), max_size=4)


@dataclass(frozen=True)
class Turn:
    """What a backend says, and what it means by it."""

    manner: Manner
    calls: list[Call]
    cuts: list[int]
    text: str
    finish: str | None

    def fragments(self) -> list[Fragment]:
        """The turn as deltas."""
        lanes = [list(self._deltas(at, call)) for at, call in enumerate(self.calls)]
        if self.manner.interleaved:
            rows = itertools.zip_longest(*lanes)
            deltas = [delta for row in rows for delta in row if delta is not None]
        else:
            deltas = [delta for lane in lanes for delta in lane]
        return [
            Fragment(text=self.text),
            *(Fragment(calls=(delta,)) for delta in deltas),
            Fragment(finish=self.finish),
        ]

    def _deltas(self, at: int, call: Call) -> Iterator[CallFragment]:
        name, text = call
        pieces: list[Any] = (
            [json.loads(text)] if self.manner.arguments == "object" else _cut(text, self.cuts)
        )
        head = None if self.manner.arguments == "null first" else ""
        names: list[str | None] = {
            "halves": [name[: len(name) // 2], name[len(name) // 2 :]],
            "growing": [name[:1], name[: len(name) // 2], name],
            "late": [None, name],
        }.get(self.manner.name, [name])  # type: ignore[assignment]
        written = [(part, head) for part in names]
        again = name if self.manner.name == "every" else None
        written += [(again, piece) for piece in pieces]
        if self.manner.arguments == "twice":
            written.append((again, text))
        for number, (part, piece) in enumerate(written):
            yield CallFragment(self._index(at), self._id(at, number), part, piece)

    def _index(self, at: int) -> int | None:
        return {"right": at, "gapped": at * 3 + 2, "shared": 0, "absent": None}[self.manner.index]

    def _id(self, at: int, number: int) -> str | None:
        if self.manner.ids in ("first", "one") and number:
            return None
        return {
            "first": f"x{at}", "every": f"x{at}", "one": "x", "absent": None,
            "fresh": f"x{at}-{number}",
        }[self.manner.ids]  # fmt: skip


def _cut(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted({cut % len(text) for cut in cuts} - {0}), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(places)]


turns = st.builds(
    Turn,
    manners,
    calls,
    cuts,
    st.sampled_from(["", "\n", "Let me see."]),
    st.sampled_from(["stop", "tool_calls", None]),
)


def events_of(kind: type[NativeReader], turn: Turn) -> list[Event]:
    numbers = itertools.count()
    native = kind(TOOLS, lambda: f"call_{next(numbers)}")
    events = [event for fragment in turn.fragments() for event in native.feed(fragment)]
    return [*events, *native.finish(done=True)]


def holds(kind: type[NativeReader], turn: Turn) -> bool:
    """The law: the same calls, numbered, one after the other, arguments append-only."""
    try:
        events = events_of(kind, turn)
    except (UpstreamError, LookupError):
        return False
    made: list[list[str]] = []
    open_call = -1
    for event in events:
        match event:
            case CallStart(index, name, call_id):
                if (open_call, index, call_id) != (-1, len(made), f"call_{index}"):
                    return False
                made.append([name, ""])
                open_call = index
            case ArgsDelta(index, text):
                if index != open_call:
                    return False
                made[index][1] += text
            case CallEnd(index, complete):
                if index != open_call or not complete:
                    return False
                open_call = -1
            case _:
                pass
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    return text == turn.text and open_call == -1 and _meant(made) == _meant(turn.calls)


def _meant(made: Any) -> list[tuple[str, Any]]:
    return [(name, json.loads(text) if _is_json(text) else text) for name, text in made]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def twins(turn: Turn) -> bool:
    """Whether two calls that follow each other are the same, which one id for all cannot tell."""
    alike = any(a == b for a, b in itertools.pairwise(turn.calls))
    return alike and turn.manner.ids == "one" and turn.manner.index in ("shared", "absent")


@settings(max_examples=400, deadline=None)
@given(turns)
def test_whatever_the_manner_the_same_calls_come_out(turn: Turn) -> None:
    assume(not twins(turn))
    assert holds(NativeReader, turn), turn.fragments()


class TrustsIndexes(NativeReader):
    """A call is where its index says."""

    def _find(self, piece: CallFragment) -> NativeCall | None:
        return self._by_index.get(piece.index or 0)


class TrustsIds(NativeReader):
    """A call is where its id says."""

    def _find(self, piece: CallFragment) -> NativeCall | None:
        return self._by_id.get(piece.id or "")


class JoinsNames(NativeReader):
    """Every piece of a name is added to it."""

    def _joined_name(self, name: str, more: str) -> str:
        return name + more


class TakesAllArguments(NativeReader):
    """What comes after the end of the arguments is added to them."""

    def _add_arguments(self, call: NativeCall, text: str) -> None:
        call.has_arguments = True
        call.boundary.feed(text)
        call.waiting.append(text)


class DropsEchoes(NativeReader):
    """A name that comes again is the same call."""

    def _again(self, call: NativeCall, piece: CallFragment) -> NativeCall | None:
        return call if piece.name == call.name and not as_text(piece.arguments) else None


class NeverWaits(NativeReader):
    """A call is announced by the first piece of its name."""

    def _is_settled(self, name: str) -> bool:
        return True


QUICKLY = settings(max_examples=3_000, phases=[Phase.generate], deadline=None, database=None)
MUTANTS = (TrustsIndexes, TrustsIds, JoinsNames, TakesAllArguments, DropsEchoes, NeverWaits)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_law_catches(mutant: type[NativeReader]) -> None:
    found = find(turns, lambda turn: not twins(turn) and not holds(mutant, turn), settings=QUICKLY)
    assert holds(NativeReader, found)


HEAD = CompletionHead("chatcmpl-1", 5, "m")


def answer(kind: Any, turn: Turn, encoder: type[ChunkEncoder] = ChunkEncoder) -> Client:
    """The turn through one of the sinks."""
    client = Client(HttpRequest())
    sink = kind(client, RequestContext("req_1"), read(body()), HEAD)
    if kind is ChatStreamSink:
        sink._encoder = encoder(HEAD, include_usage=False)
    sink.begin(Begun("backend", "native"))
    policy = Policy(ToolChoice(), parallel=True)
    for event in events_of(NativeReader, turn):
        if passed := policy.feed([event]):
            sink.send(0, passed)
            sink.flush()
    sink.done(Report(usage=TokenUsage(1, 2)))
    return client


def agree(turn: Turn, encoder: type[ChunkEncoder] = ChunkEncoder) -> bool:
    """The other law: the joined chunks say what the body says."""
    try:
        streamed = join(answer(ChatStreamSink, turn, encoder).chunks)
    except (AssertionError, LookupError):
        return False
    return same(streamed, whole(answer(ChatWholeSink, turn).json))


@settings(max_examples=100, deadline=None)
@given(turns)
def test_a_stream_says_what_a_whole_answer_says(turn: Turn) -> None:
    assume(not twins(turn))
    assert agree(turn)


class SendsIdsTwice(ChunkEncoder):
    """Every delta of a call has its id."""

    def encode(self, choice: int, events: Any) -> bytes:
        function = b'"function":{"arguments"'
        return super().encode(choice, events).replace(function, b'"id":"call_0",' + function)


class LosesPieces(ChunkEncoder):
    """A piece of arguments that is white space is not worth a chunk."""

    def encode(self, choice: int, events: Any) -> bytes:
        kept = [e for e in events if not (isinstance(e, ArgsDelta) and len(e.json) == 1)]
        return super().encode(choice, kept)


class RepeatsTheRole(ChunkEncoder):
    """Every write begins with the role."""

    def encode(self, choice: int, events: Any) -> bytes:
        self._roles.clear()
        return super().encode(choice, events)


class FinishesTwice(ChunkEncoder):
    """The reason for the end is said twice."""

    def end(self, reasons: Any, usage: Any, notes: Any, about: Any = None) -> bytes:
        return super().end([*reasons, *reasons], usage, notes, about)


@pytest.mark.parametrize("mutant", [SendsIdsTwice, LosesPieces, RepeatsTheRole, FinishesTwice])
def test_the_other_law_catches(mutant: type[ChunkEncoder]) -> None:
    found = find(turns, lambda turn: not twins(turn) and not agree(turn, mutant), settings=QUICKLY)
    assert agree(found)


def test_a_turn_ends_once() -> None:
    turn = Turn(Manner("right", "first", "first", "pieces", interleaved=False), [], [], "x", None)
    ends = [event for event in events_of(NativeReader, turn) if isinstance(event, TurnEnd)]
    assert ends == [TurnEnd("stop")]
