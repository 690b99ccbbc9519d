"""How many plain calls a parser reads: one of Toolwire's, or of another project.

Only what every parser should get right: the conformance kit's well-formed cases with one call,
several, all types of values, no arguments and text around them. Each is parsed whole, and in pieces
of five characters, as a model's tokens come. Only names and arguments are compared. A format that
the parser does not know is left out.

    python benchmarks/parsers.py --parser benchmarks.sglang_parsers:adapter
"""

import argparse
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from toolwire.conformance import Adapter, DeltaMessage, TestCase, cases_of
from toolwire.conformance.adapter import load_factory
from toolwire.conformance.runner import applicable
from toolwire.formats import get, names

PIECE = 5
PLAIN = (2, 3, 4, 5, 6)
"""Of the kit's patterns: one call, several, types of values, no arguments, text around them."""
Calls = list[tuple[str, Any]]


def joined(messages: Iterable[DeltaMessage]) -> Calls:
    """The calls that deltas add up to, as a client joins them."""
    calls: dict[int, list[str]] = {}
    for message in messages:
        for piece in message.tool_calls or ():
            call = calls.setdefault(piece.index, ["", ""])
            call[0] += piece.function.name or ""
            call[1] += piece.function.arguments or ""
    return [(name, json.loads(text or "{}")) for _, (name, text) in sorted(calls.items())]


def cut(text: str, special: Iterable[str]) -> list[str]:
    """Pieces as tokens come: a special token is never split."""
    whole = "|".join(map(re.escape, sorted(special, key=len, reverse=True)))
    parts = re.split(f"({whole})", text) if whole else [text]
    pieces = []
    for number, part in enumerate(parts):
        size = len(part) if number % 2 else PIECE
        pieces += [part[at : at + size] for at in range(0, len(part), size or 1)]
    return pieces


def found(adapter: Adapter, case: TestCase) -> Calls:
    """The calls that a parser finds in a text, in the way of the case."""
    text = case.model_output
    if not case.streaming_mode:
        read = adapter.extract(text, case.tools).tool_calls
        return [(call.function.name, json.loads(call.function.arguments)) for call in read]
    stream = adapter.stream(case.tools)
    pieces = cut(text, get(case.parser_name).special_tokens)
    return joined([*(m for piece in pieces for m in stream.feed(piece)), *stream.finish()])


def is_right(adapter: Adapter, case: TestCase) -> bool:
    wanted = [
        (call.function.name, json.loads(call.function.arguments))
        for call in case.expected_tool_calls
    ]
    try:
        return found(adapter, case) == wanted
    except Exception:  # noqa: BLE001 - whatever another project's parser raises
        return False


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--parser", default="toolwire.conformance.adapters:ours")
    factory = load_factory(options.parse_args().parser)
    logging.disable(logging.CRITICAL)
    common = set.intersection(*({c.scenario_name for c in cases_of(name)} for name in names()))
    sums: Counter[str] = Counter()
    for name in sorted(names()):
        adapter = factory(name)
        if adapter is None:
            continue
        cases = [
            case
            for case in applicable(adapter, cases_of(name))
            if case.pattern in PLAIN and case.expected_tools_called
            if case.scenario_name in common and not case.malformed and not case.cut
        ]
        counts: Counter[str] = Counter()
        for case in cases:
            way = "streamed" if case.streaming_mode else "whole"
            counts.update({f"{way} cases": 1, way: is_right(adapter, case)})
        sums.update(counts)
        print(f"{name:<20}", *_figures(counts))
    print(f"{'all':<20}", *_figures(sums))


def _figures(counts: Counter[str]) -> list[str]:
    ways = ("whole", "streamed")
    return [f"{way} {counts[way]:>5} of {counts[f'{way} cases']:>5}  " for way in ways]


if __name__ == "__main__":
    main()
