"""What the pages show runs: every Python block of the client's pages, in order."""

import contextlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.gateway.process import running
from tests.scripted import Answer, Call, ScriptedServer
from tests.scripted.request import ChatRequest
from tests.scripted.tools import fill_tool

from toolwire.client import Client, tool

DOCS = Path("docs").resolve()
HERE = Path(__file__).parent
_BLOCK = re.compile(r"^```python ?(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_BLOCKS = _BLOCK.findall((DOCS / "client.md").read_text("utf-8"))
GUIDE = [text for kind, text in _BLOCKS if kind != "native"]
NATIVE = [text for kind, text in _BLOCKS if kind == "native"]
SIDES = dict(_BLOCK.findall((DOCS / "client-from-openai.md").read_text("utf-8")))
README = [text for _, text in _BLOCK.findall((DOCS.parent / "README.md").read_text("utf-8"))]


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def obedient(request: ChatRequest) -> Answer:
    """Calls the first tool once, then says something."""
    last = request.messages[-1]
    if request.tools and last["role"] == "user" and request.tool_choice != "none":
        tool = request.tools[0]
        return Answer(calls=(Call(tool["name"], fill_tool(tool, {"*": "Paris"})),))
    said = last["content"] if last["role"] == "tool" else "Hello."
    return Answer(text=f"Paris: {said}")


@pytest.fixture
def server(backend: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    backend.use("std", obedient)
    monkeypatch.setenv("TOOLWIRE_BASE_URL", backend.url)
    monkeypatch.setenv("OPENAI_BASE_URL", backend.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("TOOLWIRE_MODEL", "m")
    shutil.copy(HERE / "my_tools.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    return backend


@pytest.mark.timeout(240)
def test_every_block_of_the_guide_runs_in_order(server: ScriptedServer) -> None:
    names: dict[str, Any] = {"__name__": "guide"}
    module = type(sys)("guide")
    module.__dict__.update(names)
    sys.modules["guide"] = module  # annotations are looked up there
    for number, block in enumerate(GUIDE):
        code = block.replace("http://127.0.0.1:8181/v1", server.url)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, f"client.md block {number}", "exec"), module.__dict__)
        if "run(" in block and "print(" in block:
            assert out.getvalue(), block
    assert len(GUIDE) > 10
    del sys.modules["guide"]


def test_the_blocks_about_conversations_run_on_toolwire(server: ScriptedServer) -> None:
    with running("--upstream", server.url, config='sessions = "memory"\n') as gateway:
        url = f"http://127.0.0.1:{gateway.port}/v1"
        names: dict[str, Any] = {"client": Client(url), "get_weather": get_weather}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            for block in NATIVE:
                exec(block, names)
        names["client"].close()
    assert out.getvalue().splitlines()[2] == "support-42 8"
    assert len(NATIVE) == 2


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout


def test_both_programs_of_the_comparison_print_the_same(server: ScriptedServer) -> None:
    assert run(SIDES["openai"]) == run(SIDES["toolwire"])
    asked = [one.json["messages"][-1] for one in server.requests]
    assert asked[1]["content"] == asked[3]["content"] == "21 degrees and sunny in Paris"


def test_the_program_of_the_readme_prints_an_answer(server: ScriptedServer) -> None:
    (program,) = (text for text in README if "import Client" in text)
    assert run(program) == "Paris: 21 degrees and sunny\n"
