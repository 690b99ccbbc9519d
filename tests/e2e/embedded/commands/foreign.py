"""Commands that start a program of others: only what they say about Toolwire is checked."""

import re
import urllib.request

from tests.e2e.embedded.commands.pages import Command
from tests.e2e.embedded.commands.stage import Stage

from toolwire.doctor.server_flags import PARSERS

PROGRAMS = {
    "vllm serve": "vllm",
    "python -m sglang.launch_server": "sglang",
    "ollama serve": "",
    "llama-server": "",
    "cline": "",
    "claude": "",
    "TOOLWIRE_KEY=any codex": "",
    "goose": "",
    "qwen": "",
    "llm": "",
}
"""How such a command begins, and the dialect of the server that it starts.

`make clients` runs the agents among them for real.
"""


def check(command: Command, stage: Stage) -> None:
    """Its parsers exist, and Toolwire answers at the addresses that it is given."""
    text = "\n".join((*command.exports, command.text))
    kind = next(kind for start, kind in PROGRAMS.items() if command.text.startswith(start))
    for parser in re.findall(r"--tool-call-parser (\S+)", text):
        assert parser in PARSERS[kind].values()
    for path in re.findall(r"http://127\.0\.0\.1:8181(/v1)?", text):
        with urllib.request.urlopen(f"{stage.gateway}{path or '/v1'}/models", timeout=30) as answer:
            assert answer.status == 200
