"""A chunk passes few functions on its way: this is what a gateway in Python costs.

Counted, not timed, so that it is the same on every machine. `benchmarks/calls.py --where` lists the
functions.
"""

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "calls.py"
ARCHITECTURE = Path(__file__).parents[3] / "docs" / "architecture.md"
MOST = {
    "arguments chunk": 20,
    "arguments chunk, live": 20,
    "word of text": 28,
    "word, without tools": 20,
    "request, 9 chunks": 355,
}


def _benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_of_calls", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def _calls(mode: str, surface: str) -> dict[str, float]:
    found = asyncio.run(_benchmark().measure(mode, surface))
    return {name: cost.calls.total() / cost.times for name, cost in found.items()}


@pytest.mark.parametrize("mode", ["native", "hybrid"])
@pytest.mark.parametrize("surface", ["messages"])
def test_another_surface_costs_little_more_than_chat_completions(surface: str, mode: str) -> None:
    chat, other = _calls(mode, "chat"), _calls(mode, surface)
    assert {
        name: count / chat[name] for name, count in other.items() if count > 1.3 * chat[name]
    } == {}


@pytest.mark.parametrize("mode", ["native", "hybrid"])
def test_a_chunk_and_a_request_pass_few_functions(mode: str) -> None:
    calls = _calls(mode, "chat")
    assert len(calls) == len(MOST)
    for name, count in calls.items():
        assert 5 < round(count) <= MOST[name], (name, count)


@pytest.mark.parametrize("mode", ["native", "hybrid"])
def test_every_file_that_a_chunk_passes_is_in_the_description_of_its_path(mode: str) -> None:
    benchmark = _benchmark()
    found = asyncio.run(benchmark.measure(mode))
    files = {
        Path(code.co_filename).relative_to(benchmark.ROOT).as_posix()
        for name, cost in found.items()
        if not name.startswith("request")
        for code in cost.calls
    }
    text = ARCHITECTURE.read_text(encoding="utf-8").partition("### The path of a chunk")[2]
    described = text.partition("\n## ")[0]
    assert len(files) > 10
    assert [name for name in sorted(files) if name not in described] == []
