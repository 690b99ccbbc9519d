"""What the README shows is what happens."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests.e2e.gateway.process import Gateway

BLOCKS = re.findall(
    r"^```(\w*)\n(.*?)^```$", Path("README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)
CURLS = [text for _, text in BLOCKS if text.startswith("curl ")]
ANSWERS = [json.loads(text) for kind, text in BLOCKS if kind == "json"]
(SCRIPT,) = (text for kind, text in BLOCKS if kind == "python" and "import OpenAI" in text)
(PRINTED,) = (text for _, text in BLOCKS if text.startswith("calls "))


def post(curl: str, url: str) -> Any:
    body = curl.partition("-d '")[2].rstrip().removesuffix("'").encode()
    # As curl sends it, which says that it is a form.
    with urllib.request.urlopen(f"{url}/chat/completions", body, timeout=60) as answer:
        return json.load(answer)


def test_the_first_example_is_called_and_the_second_is_answered(served: Gateway) -> None:
    call, answer = (post(curl, served.url) for curl in CURLS)
    assert _shape(call) == _shape(ANSWERS[0])
    functions = [
        a["choices"][0]["message"]["tool_calls"][0]["function"] for a in (call, ANSWERS[0])
    ]
    assert functions[0] == functions[1]
    assert _shape(answer) == _shape(ANSWERS[1])
    assert "21" in answer["choices"][0]["message"]["content"]


def test_the_script_runs_as_it_is(served: Gateway, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(SCRIPT.replace("http://127.0.0.1:8181/v1", served.url))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=90, check=False
    )
    assert done.stderr == ""
    called, said = done.stdout.splitlines()
    assert called == PRINTED.splitlines()[0]
    assert "21" in said


def _shape(value: Any) -> Any:
    """The same JSON, with types in place of values."""
    if isinstance(value, dict):
        return {key: _shape(sub) for key, sub in value.items()}
    return [_shape(sub) for sub in value] if isinstance(value, list) else type(value)
