"""The server as a process of its own: started, driven and read over HTTP."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scripted import VARIANTS

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "tests.scripted"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [*COMMAND, "--variant", "std", "--script", '["from the command line"]']
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("listening on ").strip()
        process.terminate()
        assert process.wait(5) == 0


def fetch(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=5) as response:
        return json.load(response)


def content(url: str) -> str:
    answer = fetch(f"{url}/chat/completions", {"messages": []})
    text: str = answer["choices"][0]["message"]["content"]
    return text


@pytest.mark.process
def test_it_plays_what_the_command_line_says_and_then_what_it_is_told(url: str) -> None:
    control = url.removesuffix("/v1") + "/_scripted"
    assert content(url) == "from the command line"
    assert fetch(f"{control}/variant", {"variant": "nousage", "script": ["told"]}) == {"ok": True}
    assert content(url) == "told"
    [seen] = fetch(f"{control}/requests")["requests"]
    assert (seen["method"], seen["path"], seen["json"]) == (
        "POST",
        "/v1/chat/completions",
        {"messages": []},
    )
    assert seen["closed_at"] is None
    assert seen["finished_at"] > seen["at"]


@pytest.mark.process
def test_the_list_has_one_line_for_every_variant() -> None:
    command = [*COMMAND, "--list"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(VARIANTS)


def test_every_variant_says_in_one_line_of_its_own_what_is_odd() -> None:
    texts = [kind.__doc__ or "" for kind in VARIANTS.values()]
    assert all(text.endswith(".") and "\n" not in text for text in texts)
    assert len(set(texts)) == len(VARIANTS)
