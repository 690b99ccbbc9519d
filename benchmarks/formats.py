"""What a parser costs, per format: `python benchmarks/formats.py [format ...]`.

Prints, for each format: CPU microseconds per 4-character delta of a long string argument (live),
the part of deltas that carry arguments, the cost of a delta at 100 kB against 1 kB, megabytes per
second of whole text, and CPU seconds for a 1 MiB argument in 1-character deltas. CPU time, best
of several runs; nothing but the parser runs in the timed part.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from importlib.resources import files

from toolwire.formats import Delivery, RenderedCall, names, parser_for, provider_id, render_calls
from toolwire.protocol.events import ArgsDelta
from toolwire.protocol.tools import ToolSpec

LINE = "    if value < limit: print(f'{value} of {limit}', \"ok\")  # a line of code\n"
BARS = {"delta": 10.0, "share": 0.9, "growth": 1.3, "whole": 20.0, "chars": 3.0}


def tools() -> list[ToolSpec]:
    text = (files("toolwire.conformance") / "cases" / "_tools.json").read_text("utf-8")
    return [ToolSpec(tool["name"], None, tool["parameters"]) for tool in json.loads(text)]


def call_of(name: str, size: int) -> str:
    content = (LINE * (size // len(LINE) + 1))[:size]
    wire_id = provider_id(name, "write_file", 0)
    arguments = {"path": "a", "content": content}
    return render_calls(name, [RenderedCall("write_file", arguments, wire_id)])


def feed(name: str, pieces: list[str], delivery: Delivery) -> tuple[float, int]:
    """CPU seconds for one turn, and how many pieces gave arguments."""
    parser = parser_for(name, TOOLS, delivery=delivery)
    given = 0
    start = time.process_time()
    for piece in pieces:
        for event in parser.feed(piece):
            if type(event) is ArgsDelta:
                given += 1
    parser.finish()
    return time.process_time() - start, given


def best(runs: int, measure: Callable[[], tuple[float, int]]) -> tuple[float, int]:
    return min(measure() for _ in range(runs))


def chunks(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def measure(name: str) -> dict[str, float]:
    short, long = chunks(call_of(name, 1_000), 4), chunks(call_of(name, 100_000), 4)
    whole, chars = call_of(name, 1 << 20), chunks(call_of(name, 1 << 20), 1)
    long_time, given = best(6, lambda: feed(name, long, "live"))
    short_time, _ = best(30, lambda: feed(name, short, "live"))
    whole_time, _ = best(3, lambda: feed(name, [whole], "whole"))
    chars_time, _ = best(1, lambda: feed(name, chars, "live"))
    return {
        "delta": long_time / len(long) * 1e6,
        "share": given / len(long),
        "growth": (long_time / len(long)) / (short_time / len(short)),
        "whole": len(whole) / whole_time / 1e6,
        "chars": chars_time,
    }


def within(figures: dict[str, float]) -> bool:
    above = figures["share"] >= BARS["share"] and figures["whole"] >= BARS["whole"]
    return above and all(figures[key] <= BARS[key] for key in ("delta", "growth", "chars"))


def main(chosen: list[str]) -> int:
    print(f"{'format':<18}{'us/delta':>9}{'share':>7}{'growth':>8}{'MB/s':>8}{'1 MiB s':>9}")
    print(f"{'(bar)':<18}{'<=10':>9}{'>=.90':>7}{'<=1.3':>8}{'>=20':>8}{'<=3':>9}")
    failed = 0
    for name in chosen or names():
        figures = measure(name)
        failed += not within(figures)
        print(
            f"{name:<18}{figures['delta']:>9.2f}{figures['share']:>7.2f}{figures['growth']:>8.2f}"
            f"{figures['whole']:>8.0f}{figures['chars']:>9.2f}{'' if within(figures) else '  !'}",
            flush=True,
        )
    return failed


TOOLS = tools()

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("format", nargs="*", help="a format; all if none is named")
    chosen = parser.parse_args().format
    if unknown := sorted({*chosen} - {*names()}):
        parser.error(f"no format is called {', '.join(unknown)}: `toolwire formats` lists them")
    sys.exit(main(chosen))
