"""How well the embedded model calls tools: `python benchmarks/embedded.py [--examples 0,1,2,3]`.

Puts the prompts of `embedded_prompts.json` to `toolwire serve` on the default weights, as a client
would: each prompt with its tools and `tool_choice: auto`, and those that need a tool once more with
`required`. The prompts of the part "choosing" may be used to choose settings, those "held out" only
to see what the settings are worth. Temperature 0, or the model's own sampling with a seed.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROMPTS = json.loads(Path(__file__).with_name("embedded_prompts.json").read_text("utf-8"))
PARTS = ("choosing", "held out")
SAMPLING: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0},
    "as served": {"seed": 7, "cache_prompt": True},
}
LISTENS = re.compile(r"listens on (http://\S+)")
CONFIG = """
[[models]]
name = "*"
backend = { url = "embedded:" }
examples = %s
"""
HEADS = (
    "examples", "sampling", "part", "called", "tool", "arguments", "no more", "text kept",
    "demanded: tool", "arguments", "repeated", "s/turn",
)  # fmt: skip


@dataclass
class Tally:
    """How many turns of each kind there were, and how many were right."""

    right: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)

    def note(self, what: str, *, right: bool) -> None:
        self.total[what] = self.total.get(what, 0) + 1
        self.right[what] = self.right.get(what, 0) + right

    def show(self, what: str) -> str:
        return f"{self.right.get(what, 0)}/{self.total.get(what, 0)}"


def tools_of(prompt: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools a prompt comes with, as OpenAI's clients send them."""
    return [
        {"type": "function", "function": {"name": name, **PROMPTS["tools"][name]}}
        for name in PROMPTS["toolsets"][prompt["tools"]]
    ]


@contextmanager
def served(examples: str) -> Iterator[str]:
    """`toolwire serve` on the default weights; its URL."""
    with tempfile.TemporaryDirectory() as name:
        config, out = Path(name) / "toolwire.toml", Path(name) / "out.txt"
        config.write_text(CONFIG % examples if examples else "")
        command = [sys.executable, "-m", "toolwire", "serve", "--port", "0", "--threads", "1"]
        with out.open("wb") as file:
            process = subprocess.Popen([*command, "--log-level", "error"], cwd=name, stdout=file)
        try:
            while not (found := LISTENS.search(out.read_text())):
                if process.poll() is not None:
                    raise SystemExit("toolwire did not start")
                time.sleep(0.05)
            yield found[1]
        finally:
            process.terminate()
            process.wait()


def ask(url: str, prompt: dict[str, Any], **params: Any) -> list[tuple[str, Any]]:
    """The calls that the model makes: names and arguments."""
    messages = [{"role": "user", "content": prompt["say"]}]
    body = {"model": "m", "messages": messages, "tools": tools_of(prompt), "max_tokens": 128}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        json.dumps({**body, **params}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        message = json.load(answer)["choices"][0]["message"]
    calls = (call["function"] for call in message.get("tool_calls") or ())
    return [(call["name"], _arguments(call["arguments"])) for call in calls]


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # cut off by max_tokens
        return None


def judge(tally: Tally, prefix: str, wanted: list[tuple[str, Any]], made: list[Any]) -> None:
    """Right tools; right arguments; and nothing that was not asked for."""
    first = made[: len(wanted)]
    tools = sorted(name for name, _ in first) == sorted(name for name, _ in wanted)
    tally.note(f"{prefix}tool", right=tools)
    fits = all(any(_fits(want, call) for call in first) for want in wanted)
    tally.note(f"{prefix}arguments", right=tools and fits)
    tally.note(f"{prefix}no more", right=0 < len(made) <= len(wanted))
    tally.note("repeated", right=len({json.dumps(call) for call in made}) < len(made))


def _fits(want: tuple[str, Any], call: tuple[str, Any]) -> bool:
    """The same tool, and every argument that was asked for; optional ones may be there besides."""
    name, arguments = call
    return name == want[0] and _same(want[1], arguments)


def _same(want: Any, got: Any) -> bool:
    if isinstance(want, dict) and isinstance(got, dict):
        return all(key in got and _same(value, got[key]) for key, value in want.items())
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(_same, want, got))
    if isinstance(want, str) and isinstance(got, str):
        return want.casefold() == got.casefold().strip()
    return bool(want == got)


def evaluate(url: str, sampling: dict[str, Any], part: str) -> tuple[Tally, float]:
    """Every prompt of one part, and the seconds that a turn took."""
    tally, started, turns = Tally(), time.monotonic(), 0
    prompts = [prompt for prompt in PROMPTS["prompts"] if prompt["part"] == part]
    for prompt in prompts:
        made, turns = ask(url, prompt, **sampling), turns + 1
        if prompt["calls"]:
            tally.note("called", right=bool(made))
            judge(tally, "", wanted_of(prompt), made)
        else:
            tally.note("text kept", right=not made)
    for prompt in filter(wanted_of, prompts):
        made, turns = ask(url, prompt, tool_choice="required", **sampling), turns + 1
        judge(tally, "demanded ", wanted_of(prompt), made)
    return tally, (time.monotonic() - started) / turns


def wanted_of(prompt: dict[str, Any]) -> list[tuple[str, Any]]:
    """The calls that a prompt asks for: none, one or two."""
    return [(call["name"], call["arguments"]) for call in prompt["calls"]]


def row(examples: str, sampling: str, part: str, tally: Tally, seconds: float) -> list[str]:
    shown = ["called", "tool", "arguments", "no more", "text kept"]
    shown += ["demanded tool", "demanded arguments", "repeated"]
    return [examples or "as served", sampling, part, *map(tally.show, shown), f"{seconds:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--examples", default="", help="such as 0,1,2,3; default: as served")
    parser.add_argument("--sampling", choices=SAMPLING, action="append", help="default: both")
    parser.add_argument("--part", choices=PARTS, action="append", help="default: both")
    options = parser.parse_args()
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for examples in options.examples.split(","):
        with served(examples) as url:
            for name in options.sampling or SAMPLING:
                for part in options.part or PARTS:
                    result = evaluate(url, SAMPLING[name], part)
                    print("| " + " | ".join(row(examples, name, part, *result)) + " |", flush=True)


if __name__ == "__main__":
    main()
