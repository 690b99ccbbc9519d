"""The seven laws of a format parser, each a function that raises AssertionError when broken.

A law takes the maker of a parser, so that the same function judges ours and a deliberate mutant.
"""

import ast
import json
import random
import re
from collections.abc import Callable, Iterable
from functools import partial

from cases import chunks, outcome, parse
from floods import repeat
from tests.timing import cpu, in_a_row, least

from toolwire.formats import Delivery, Parser, Trace
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, ReasoningDelta, TextDelta

Make = Callable[[], Parser]
CHUNK_SIZES = (1, 2, 3, 5, 11, 23)
MEASURABLE = 0.5e-3  # seconds: what starting costs does not count beside it
LONGEST = 1 << 16  # four times as much still fits into the caches of a processor


def cutting_does_not_matter(make: Make, text: str, cuttings: Iterable[list[str]]) -> None:
    """Law 1."""
    whole = outcome(parse(make(), [text]))
    for pieces in cuttings:
        assert outcome(parse(make(), pieces)) == whole, f"cut {pieces!r}"


def every_single_cut(text: str, step: int = 1) -> Iterable[list[str]]:
    return ([text[:cut], text[cut:]] for cut in range(1, len(text), step))


def every_chunk_size(text: str) -> Iterable[list[str]]:
    return (chunks(text, size) for size in CHUNK_SIZES)


def random_cuttings(text: str, dice: random.Random, count: int) -> Iterable[list[str]]:
    """The text in pieces of random sizes: a few long ones, or many short ones."""
    for _ in range(count):
        most = dice.choice((3, 8, 40, 200))
        yield _pieces(text, lambda most=most: dice.randint(1, most))  # type: ignore[misc]


def token_cuttings(
    text: str, tokens: Iterable[str], dice: random.Random, count: int
) -> Iterable[list[str]]:
    """The text as engines send it: special tokens are never cut, the rest in pieces of a word."""
    whole = "|".join(map(re.escape, sorted(filter(None, tokens), key=len, reverse=True)))
    for _ in range(count):
        parts = re.split(f"({whole})", text) if whole else [text]
        yield [
            piece
            for number, part in enumerate(parts)
            for piece in ([part] if number % 2 else _pieces(part, lambda: dice.randint(1, 6)))
            if piece
        ]


def _pieces(text: str, size: Callable[[], int]) -> list[str]:
    pieces = []
    while text:
        end = size()
        pieces.append(text[:end])
        text = text[end:]
    return pieces


def nothing_is_lost(make: Callable[[Trace], Parser], text: str, pieces: list[str]) -> None:
    """Law 2: the spans cover the text, and content and reasoning are exactly their spans."""
    trace = Trace()
    content, reasoning, *_ = outcome(parse(make(trace), pieces))
    position = 0
    found = {"text": "", "reasoning": ""}
    for span in trace.spans:
        assert span.start == position, f"gap or overlap at {position}"
        position = span.end
        if span.kind in found:
            found[span.kind] += text[span.start : span.end]
    assert position == len(text), "the end is not accounted for"
    assert (content or "") == found["text"], "content is not what was text"
    assert (reasoning or "") == found["reasoning"], "reasoning is not what was reasoning"


def calls_are_well_formed(events: list[Event]) -> None:
    """Law 3."""
    open_call: int | None = None
    arguments: list[str] = []
    count = 0
    for event in events:
        if isinstance(event, CallStart):
            assert open_call is None, "a call starts inside a call"
            assert event.index == count, "indexes are 0, 1, 2"
            assert event.name, "a call has a name"
            open_call, arguments, count = event.index, [], count + 1
        elif isinstance(event, ArgsDelta):
            assert event.index == open_call, "arguments belong to the open call"
            arguments.append(event.json)
        elif isinstance(event, CallEnd):
            assert event.index == open_call, "a call ends once"
            if event.complete:
                assert isinstance(json.loads("".join(arguments)), dict), "one JSON object"
            open_call = None
    assert open_call is None, "every call ends"


def what_is_cut_off_is_certain(make: Callable[[Delivery], Parser], whole: str, end: int) -> None:
    """Law 3, of a text that is cut off: arguments that were sent are the beginning of a JSON
    object, and of what the whole text sends, and whole delivers the calls that live delivers
    complete. A quote, a comma or half an escape at their end may still mean something else."""
    text = whole[:end]
    *_, calls, complete = outcome(parse(make("live"), [text]))
    *_, sent, _ = outcome(parse(make("live"), [whole]))
    for call, is_complete, full in zip(calls, complete, sent, strict=False):
        assert begins_an_object(call.arguments), f"{call.arguments!r} of {text!r}"
        certain = _UNSURE.sub("", call.arguments)
        assert is_complete or full.arguments.startswith(certain), f"{certain!r} of {text!r}"
    sure = [call for call, is_complete in zip(calls, complete, strict=True) if is_complete]
    *_, held, _ = outcome(parse(make("whole"), [text]))
    assert list(held) == sure, f"whole and live differ in {text!r}"


_UNSURE = re.compile(r"""(?:"|,\s*|(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?)\Z""")
_ENDS = ("", "0", '"', '": 0', "n", "e", "rue", "ue", "alse", "lse", "se", "ull", "ll", "l")
_ESCAPE_BEGUN = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$")


def begins_an_object(text: str) -> bool:
    """Whether the text can be completed to a JSON object."""
    if begun := _ESCAPE_BEGUN.search(text):
        text = text[: begun.start(1)]
    brackets = re.sub(r'"(?:[^"\\]|\\.)*(?:"|$)', "", text, flags=re.DOTALL)
    closers = ""
    for char in brackets:
        if char in "{[":
            closers = ("}" if char == "{" else "]") + closers
        elif char in "}]":
            closers = closers[1:]
    return not text or any(_is_object(text + end + closers) for end in (*_ENDS, '"": 0', ": 0"))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def text_is_alive(make: Make, text: str, limit: int) -> None:
    """Law 4."""
    parser = make()
    given = 0
    for fed, char in enumerate(text, 1):
        events = parser.feed(char)
        given += sum(len(e.text) for e in events if isinstance(e, TextDelta | ReasoningDelta))
        assert fed - given <= limit, f"{fed - given} characters are held after {text[:fed]!r}"


def time_is_linear(make: Make, text_of: Callable[[int], str], size: int, *, chunk: int) -> None:
    """Law 5: four times the text costs about four times the time, and not sixteen times.

    What takes no time to speak of is tried with a longer text.
    """
    while size < LONGEST and _cpu(make, chunks(text_of(size), chunk)) < MEASURABLE:
        size *= 2
    few, many = chunks(text_of(size), chunk), chunks(text_of(4 * size), chunk)
    once, four_times = least(
        in_a_row(4, lambda: _cpu(make, few)),
        lambda: _cpu(make, many),
        enough=lambda once, four_times: four_times <= 6.5 * once,
    )
    ratio = four_times / once
    assert ratio <= 6.5, f"four times the text costs {ratio:.1f} times the time"


def flood_is_cheap(make: Make, flood: str, *, chunk: int, times: float) -> None:
    """R2: a flood in pieces of `chunk` costs so many `times` what prose in pieces does, or less."""
    prose, pieces = chunks(repeat("a word and ", len(flood)), 4), chunks(flood, chunk)
    usual, taken = least(
        lambda: _cpu(make, prose),
        lambda: _cpu(make, pieces),
        enough=lambda usual, taken: taken <= times * usual,
    )
    ratio = taken / usual
    assert ratio <= times, f"it costs {ratio:.1f} times what prose does: {flood[:40]!r}"


def _cpu(make: Make, pieces: list[str]) -> float:
    return cpu(partial(parse, make(), pieces))


def source_is_pure(source: str) -> None:
    """Law 6, what can be seen: nothing evaluates text, no `global`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}, node.func.id
        if isinstance(node, ast.Import):
            assert not {"ast", "pickle"} & {alias.name for alias in node.names}, "import"
        assert not isinstance(node, ast.Global), "module state"


def turns_are_independent(make: Make, text: str) -> None:
    """Law 6, what can be observed: two turns read at the same time do not meet."""
    alone = outcome(parse(make(), [text]))
    one, two = make(), make()
    first: list[Event] = []
    second: list[Event] = []
    for piece in chunks(text, 7):
        first += one.feed(piece)
        second += two.feed(piece)
    assert outcome([*first, *one.finish()]) == alone
    assert outcome([*second, *two.finish()]) == alone
