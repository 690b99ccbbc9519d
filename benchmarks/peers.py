"""What a client gets from a server that misbehaves: directly, through LiteLLM, through Toolwire.

A scripted server answers every request with the same call, each time odd in another way, or written
as text in the format of some model. OpenAI's own library is the client. What counts is whether it
ends up with that one call, whole and streamed.

    python benchmarks/peers.py --litellm /path/to/bin/litellm [--json FILE] [--failures]

LiteLLM needs a virtual environment of its own: pip install 'litellm[proxy]'. It is given two
retries. Toolwire runs twice: as it comes, and told which format each model writes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.gateway import process as gateway_process  # noqa: E402
from tests.e2e.gateway.process import running  # noqa: E402
from tests.e2e.prompted.models import ALL, leaky, raw  # noqa: E402
from tests.redis_server import free_port  # noqa: E402
from tests.scripted import VARIANTS, Answer, Call, ScriptedServer  # noqa: E402
from tests.scripted.request import ChatRequest  # noqa: E402
from tests.scripted.variants import breaks, call_shape, encoding, identity, stream_shape  # noqa: E402

GROUPS = {
    "shape of calls": (call_shape, identity),
    "shape of streams": (stream_shape, encoding),
    "answers that break off": (breaks,),
}
OTHER_ANSWERS = {"args_null", "args_absent", "lengthcut", "huge_line", "flood", "noargs_empty"}
"""Variants whose answer is another one than that call, or whose point is its size."""
MARKS = ("<", "[", "{", "|")
CONFIG = """
model_list:
  - model_name: "*"
    litellm_params: {{ model: "openai/*", api_base: "{url}", api_key: none }}
router_settings: {{ num_retries: 2 }}
"""
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
ASK: dict[str, Any] = {
    "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
    "tools": [TOOL],
}
KEY = "sk-0123456789abcdef0123456789abcdef"
"""LiteLLM does not start without a key; the others take any."""
MEANT = ("get_weather", {"city": "Paris"})


@dataclass(frozen=True)
class Trial:
    """One way in which the server misbehaves."""

    group: str
    name: str
    variant: str
    script: Any
    model: str = "m"


def calls(_: ChatRequest) -> Answer:
    """The model: it always makes the same call."""
    return Answer(calls=(Call(MEANT[0], MEANT[1]),))


def trials() -> Iterator[Trial]:
    for group, modules in GROUPS.items():
        names = {module.__name__ for module in modules}
        for name, variant in VARIANTS.items():
            if variant.__module__ in names and name not in OTHER_ANSWERS:
                yield Trial(group, name, name, calls)
    for number, form in enumerate(ALL):
        script = leaky(form, calls)
        yield Trial("calls as text", form, "std", script, f"model-{number}")
    for form in ("hermes", "qwen3_coder", "llama3_json", "mistral", "kimi_k2"):
        yield Trial("a server that refuses tools", form, "refuses_tools", raw(form, calls))


def whole(client: openai.OpenAI, model: str) -> Any:
    return client.chat.completions.create(model=model, **ASK).choices[0]


def streamed(client: openai.OpenAI, model: str) -> Any:
    with client.chat.completions.stream(model=model, **ASK) as stream:
        return stream.get_final_completion().choices[0]


def judge(ask: Callable[[openai.OpenAI, str], Any], client: openai.OpenAI, model: str) -> str:
    """Empty if the client has the call; else what it has instead."""
    try:
        choice = ask(client, model)
        found = [
            (call.function.name, json.loads(call.function.arguments))
            for call in choice.message.tool_calls or ()
        ]
    except Exception as error:  # noqa: BLE001 - whatever a client dies of
        return f"{type(error).__name__}: {str(error)[:80]}"
    content = choice.message.content or ""
    if found != [MEANT]:
        return f"calls {found}" if found else f"only text: {content[:60]!r}"
    if any(mark in content for mark in MARKS):
        return f"markup in the text: {content[:60]!r}"
    return "" if choice.finish_reason == "tool_calls" else f"ends with {choice.finish_reason}"


@contextmanager
def litellm(command: str, url: str) -> Iterator[str]:
    """LiteLLM's proxy, on loopback, as it comes."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(CONFIG.format(url=url))
        words = [command, "--config", str(path), "--host", "127.0.0.1", "--port", str(port)]
        env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY}
        with (Path(folder) / "log.txt").open("wb") as log:
            process = subprocess.Popen(words, env=env, cwd=folder, stdout=log, stderr=log)
        try:
            with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY) as client:
                wait_for(client, process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(20)


def wait_for(client: openai.OpenAI, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 900
    while True:
        try:
            client.with_options(max_retries=0).models.list()
        except openai.APIConnectionError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError("LiteLLM did not start") from None
            time.sleep(0.5)
        else:
            return


def with_formats(url: str) -> str:
    """A configuration that says which format each model writes."""
    backend = f'backend = {{ url = "{url}", dialect = "openai" }}\n'
    routes = [f'format = "{form}"\nname = "model-{n}"\n' for n, form in enumerate(ALL)]
    return "".join(f"[[models]]\n{route}{backend}" for route in [*routes, 'name = "*"\n'])


Results = dict[str, dict[str, tuple[str, str]]]


def measure(server: ScriptedServer, urls: dict[str, str], only: str) -> dict[str, Results]:
    """For each peer, group and trial: what went wrong, whole and streamed."""
    found: dict[str, Results] = {name: defaultdict(dict) for name in urls}
    for name, url in urls.items():
        for trial in (trial for trial in trials() if only in trial.group):
            server.use(trial.variant, trial.script)
            with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=30) as client:
                whole_result = judge(whole, client, trial.model)
                server.use(trial.variant, trial.script)
                streamed_result = judge(streamed, client, trial.model)
            found[name][trial.group][trial.name] = (whole_result, streamed_result)
    return found


def show(found: dict[str, Results], *, failures: bool) -> None:
    groups = next(iter(found.values()))
    print(f"{'':30} {'':9} " + " ".join(f"{name:>20}" for name in found))
    for group, rows in groups.items():
        for index, kind in enumerate(("whole", "streamed")):
            right = [
                sum(not result[index] for result in results[group].values())
                for results in found.values()
            ]
            cells = " ".join(f"{f'{count} of {len(rows)}':>20}" for count in right)
            print(f"{group:30} {kind:9} {cells}")
    if failures:
        for name, results in found.items():
            for group, rows in results.items():
                for trial, result in rows.items():
                    if any(result):
                        print(f"{name}: {group}: {trial}: whole {result[0]!r} stream {result[1]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--litellm", help="path of the command; without it, LiteLLM is left out")
    parser.add_argument("--only", default="", help="only groups whose name has this word")
    parser.add_argument("--json", help="write every result to this file")
    parser.add_argument("--failures", action="store_true", help="list what went wrong")
    options = parser.parse_args()
    gateway_process.READY_WITHIN = 300.0  # a busy machine is no reason to give up
    with (
        ScriptedServer(script=calls) as server,
        running("--upstream", server.url) as ours,
        running(config=with_formats(server.url)) as told,
    ):
        urls = {"direct": server.url, "Toolwire": ours.url, "Toolwire, format set": told.url}
        if options.litellm:
            with litellm(options.litellm, server.url) as url:
                found = measure(server, {**urls, "LiteLLM": url}, options.only)
        else:
            found = measure(server, urls, options.only)
    show(found, failures=options.failures)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
