"""Where the embedded model's threshold lies: `python benchmarks/embedded_openings.py`.

Asks the default weights, for each prompt of `embedded_prompts.json`, how likely an answer is that
opens a call. Prints the threshold that parts the prompts of "choosing" best into those that need a
tool and those that do not, and what it does with those "held out".
"""

import argparse
import json
import math
import os
from itertools import pairwise

from embedded import PARTS, PROMPTS, tools_of
from toolwire.backends.embedded.call_probe import TextOrCall
from toolwire.backends.embedded.engine import EmbeddedEngine, EngineSettings
from toolwire.backends.embedded.request import bodies_for
from toolwire.backends.embedded.weights import DEFAULT_WEIGHTS, cache_folder, ensure
from toolwire.gateway.plan import make_plan
from toolwire.gateway.strategies.prompted import Constrained
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.tools import ToolReader

READER = RequestReader(ToolReader(max_tools=128, cache_bytes=1 << 20), max_messages=100)
STRATEGY = Constrained(one_call=DEFAULT_WEIGHTS.tuning.one_call)
NEVER = -99.0


def opening(engine: EmbeddedEngine, prompt: dict[str, object]) -> float:
    """The log-probability that the answer to a prompt opens a call."""
    messages = [{"role": "user", "content": prompt["say"]}]
    body = json.dumps({"model": "m", "messages": messages, "tools": tools_of(prompt)}).encode()
    outgoing = STRATEGY.outgoing(make_plan(READER.read(body), repair_history=False))
    bodies = bodies_for(outgoing, engine)
    assert isinstance(bodies, TextOrCall)
    likelihood = bodies.likelihood(engine.generate, lambda: False)
    return math.log(likelihood) if likelihood else NEVER


def right(threshold: float, needed: list[float], not_needed: list[float]) -> tuple[int, int]:
    """How many that need a tool lie above the threshold, and how many others below."""
    return sum(p > threshold for p in needed), sum(p <= threshold for p in not_needed)


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    path = ensure(DEFAULT_WEIGHTS, cache_folder(os.environ))
    engine = EmbeddedEngine(
        EngineSettings(path, context=4096, threads=1, tuning=DEFAULT_WEIGHTS.tuning)
    )
    found: dict[str, tuple[list[float], list[float]]] = {part: ([], []) for part in PARTS}
    for prompt in PROMPTS["prompts"]:
        found[prompt["part"]][not prompt["calls"]].append(opening(engine, prompt))
    engine.close()
    for part, (needed, not_needed) in found.items():
        print(f"{part}, a tool is needed: ", *(f"{p:.2f}" for p in sorted(needed)))
        print(f"{part}, none is needed:   ", *(f"{p:.2f}" for p in sorted(not_needed)))
    edges = sorted(p for group in found["choosing"] for p in group)
    between = [(low + high) / 2 for low, high in pairwise(edges)]
    best = max(between, key=lambda threshold: sum(right(threshold, *found["choosing"])))
    for threshold in (best, DEFAULT_WEIGHTS.tuning.call_threshold):
        for part, (needed, not_needed) in found.items():
            calls, texts = right(threshold, needed, not_needed)
            print(
                f"threshold {threshold:.2f}, {part}: calls {calls} of {len(needed)}, "
                f"texts {texts} of {len(not_needed)}"
            )


if __name__ == "__main__":
    main()
