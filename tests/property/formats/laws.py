"""The seven laws of a format parser, each a function that raises AssertionError when broken.

A law takes the maker of a parser, so that the same function judges ours and a deliberate mutant.
"""

import ast
import json
import time
from collections.abc import Callable, Iterable

from cases import chunks, outcome, parse
from floods import repeat

from toolwire.formats import Parser, Trace
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, ReasoningDelta, TextDelta

Make = Callable[[], Parser]
CHUNK_SIZES = (1, 2, 3, 5, 11, 23)


def cutting_does_not_matter(make: Make, text: str, cuttings: Iterable[list[str]]) -> None:
    """Law 1."""
    whole = outcome(parse(make(), [text]))
    for pieces in cuttings:
        assert outcome(parse(make(), pieces)) == whole, f"cut {pieces!r}"


def every_single_cut(text: str, step: int = 1) -> Iterable[list[str]]:
    return ([text[:cut], text[cut:]] for cut in range(1, len(text), step))


def every_chunk_size(text: str) -> Iterable[list[str]]:
    return (chunks(text, size) for size in CHUNK_SIZES)


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

    The best of some tries counts.
    """
    ratio = 0.0
    for _ in range(4):
        once = _cpu(make, chunks(text_of(size), chunk))
        ratio = _cpu(make, chunks(text_of(4 * size), chunk)) / once
        if ratio <= 6.5:
            return
    raise AssertionError(f"four times the text costs {ratio:.1f} times the time")


def flood_is_cheap(make: Make, flood: str, *, chunk: int, times: float) -> None:
    """R2: a flood in pieces of `chunk` costs at most so many times what prose in small pieces does.

    The best of some tries counts.
    """
    prose = repeat("a word and ", len(flood))
    ratio = 0.0
    for _ in range(4):
        ratio = _cpu(make, chunks(flood, chunk)) / _cpu(make, chunks(prose, 4))
        if ratio <= times:
            return
    raise AssertionError(f"it costs {ratio:.1f} times what prose does: {flood[:40]!r}")


def _cpu(make: Make, pieces: list[str]) -> float:
    parser = make()
    start = time.process_time()
    parse(parser, pieces)
    return max(time.process_time() - start, 1e-4)


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
