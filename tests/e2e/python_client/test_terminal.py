"""`toolwire chat` in a real terminal."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.python_client.terminal import toolwire
from tests.scripted import ScriptedServer

from toolwire.backends.embedded.weights import DEFAULT_WEIGHTS, cache_folder, ensure

TOOLS = str(Path(__file__).parent / "my_tools.py")
CALLS = {
    "text": "Let me look.",
    "calls": [["get_weather", {"city": "Paris"}], ["fail", {"reason": "no luck"}]],
}


ONE_TOOL = '''
from toolwire import tool

@tool
def get_weather(city: str) -> str:
    """Get the current weather in a city."""
    return "21 degrees and sunny"
'''


def chat(backend: ScriptedServer, *more: str) -> list[str]:
    return ["chat", "--tools", TOOLS, "--base-url", backend.url, "--model", "m", *more]


def test_a_turn_with_tools_and_approval(backend: ScriptedServer, tmp_path: Path) -> None:
    backend.use("std", [CALLS, "It is sunny."])
    with toolwire(*chat(backend), cache=tmp_path) as terminal:
        assert "4 tools" in terminal.read_turn()
        terminal.type("What is the weather?")
        shown = terminal.read_to("dit: ")
        assert "Let me look.\n" in shown
        assert 'Run get_weather(city="Paris")?' in shown
        terminal.type("y")
        assert 'Run fail(reason="no luck")?' in terminal.read_to("dit: ")
        terminal.type("a")
        shown = terminal.read_turn()
        assert '✓ get_weather(city="Paris")  0.' in shown
        assert '✗ fail(reason="no luck")  0.' in shown
        assert "Error: no luck" in shown
        assert shown.endswith("It is sunny.\n> ")
        terminal.end_input()
        assert terminal.wait() == 0


def test_a_call_can_be_refused_and_edited(backend: ScriptedServer, tmp_path: Path) -> None:
    backend.use("std", [CALLS, "Done."])
    with toolwire(*chat(backend), cache=tmp_path) as terminal:
        terminal.read_turn()
        terminal.type("Go.")
        terminal.read_to("dit: ")
        terminal.type("e")
        terminal.read_to("as JSON: ")
        terminal.type('{"town": 1}')
        assert "town: there is no such parameter" in terminal.read_to("dit: ")
        terminal.type("e")
        terminal.read_to("as JSON: ")
        terminal.type('{"city": "Oslo", "days": 2}')
        terminal.read_to("dit: ")
        terminal.type("n")
        assert "✗ fail" in terminal.read_turn()
    results = [m["content"] for m in backend.requests[1].json["messages"] if m["role"] == "tool"]
    assert results[0].endswith("2 sunny day(s) in Oslo")
    assert results[1] == "Error: the user did not allow this call"


def test_ctrl_c_ends_the_turn_and_not_the_program(backend: ScriptedServer, tmp_path: Path) -> None:
    backend.use("std", [{"calls": [["slow", {"seconds": 60}]]}, "Done."])
    with toolwire(*chat(backend, "--yes"), cache=tmp_path) as terminal:
        terminal.read_turn()
        terminal.type("Go.")
        terminal.read_to(r"slow\(seconds=60\)  0\.[1-9] s")
        terminal.interrupt()
        assert "interrupted" in terminal.read_turn()
        backend.use("std", ["I am here."])
        terminal.type("Are you there?")
        assert "I am here." in terminal.read_turn()
        assert [m["role"] for m in backend.requests[-1].json["messages"]] == ["user"]
        terminal.interrupt()
        assert "Ctrl-D or /quit ends" in terminal.read_turn()
        terminal.type("/quit")
        assert terminal.wait() == 0


def test_ctrl_c_ends_a_silent_answer(backend: ScriptedServer, tmp_path: Path) -> None:
    backend.use("hang_mid", ["one two three four five six"])
    with toolwire(*chat(backend), cache=tmp_path) as terminal:
        terminal.read_turn()
        terminal.type("Go.")
        terminal.read_to("one")
        terminal.interrupt()
        assert "interrupted" in terminal.read_turn()
    backend.wait_for(lambda: backend.requests[0].closed_at)


def test_the_commands(backend: ScriptedServer, tmp_path: Path) -> None:
    backend.use("std", [CALLS, "Done."])
    with toolwire(*chat(backend, "--yes"), cache=tmp_path) as terminal:
        terminal.read_turn()
        terminal.type("/trace")
        assert "Nothing has happened yet." in terminal.read_turn()
        terminal.type("Go.")
        terminal.read_turn()
        expected = {
            "/tools": "get_weather: Get the weather of a city.",
            "/trace": 'get_weather(city="Paris") returned in',
            "/history": "tool: 1 sunny day(s) in Paris",
            "/model": "scripted-mini",
            "/help": "/trace",
            "/nothing": "There is no command /nothing",
            "/clear": "A new conversation begins.",
        }
        for command, words in expected.items():
            terminal.type(command)
            assert words in terminal.read_turn(), command
        terminal.type("/history")
        assert "Nothing has been said yet." in terminal.read_turn()


def test_lines_of_the_last_chat_come_back_with_the_arrow_keys(
    backend: ScriptedServer, tmp_path: Path
) -> None:
    backend.use("std", ["Yes."])
    with toolwire(*chat(backend), cache=tmp_path) as terminal:
        terminal.read_turn()
        terminal.type("remember this")
        terminal.read_turn()
        terminal.end_input()
        terminal.wait()
    assert (tmp_path / "chat_history").stat().st_mode & 0o777 == 0o600
    with toolwire(*chat(backend), cache=tmp_path) as terminal:
        terminal.read_turn()
        terminal.type("\x1b[A")
        assert "remember this" in terminal.read_turn()


def test_a_model_cannot_move_the_cursor(backend: ScriptedServer, tmp_path: Path) -> None:
    backend.use("std", ["one \x1b]0;title\x07\x1b[2Jtwo"])
    with toolwire(*chat(backend), cache=tmp_path) as terminal:
        terminal.read_turn()
        terminal.type("Go.")
        assert "one ]0;title[2Jtwo" in terminal.read_turn()


def test_an_error_does_not_end_the_chat(backend: ScriptedServer, tmp_path: Path) -> None:
    backend.use("err401", ["ok"])
    with toolwire(*chat(backend), cache=tmp_path) as terminal:
        terminal.read_turn()
        terminal.type("Go.")
        assert "Error: Incorrect API key provided." in terminal.read_turn()
        backend.use("std", ["Better."])
        terminal.type("Go.")
        assert "Better." in terminal.read_turn()


def run(*arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "toolwire", "chat", *arguments],
        input=given, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_one_question_needs_no_terminal(backend: ScriptedServer) -> None:
    backend.use("std", [CALLS, "It is sunny."])
    done = run("Weather?", *chat(backend, "--yes")[1:])
    assert done.returncode == 0, done.stderr
    assert '✓ get_weather(city="Paris")' in done.stdout
    assert done.stdout.endswith("It is sunny.\n")


def test_lines_of_standard_input_are_turns_and_nothing_is_approved(
    backend: ScriptedServer,
) -> None:
    backend.use("std", [CALLS, "First.", "Second."])
    done = run(*chat(backend)[1:], given="Weather?\n\nAnd now?\n")
    assert done.returncode == 0
    assert done.stdout.endswith("First.\nSecond.\n")
    assert "there is nobody to approve this call" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "has no tools. Mark a function with @tool"),
        ("from toolwire import tool\n\n@tool\ndef f(x): ...", "f: parameter 'x' has no type"),
        ("import nothing_like_this", "line 1: ModuleNotFoundError"),
        ("def f(:", "line 1: SyntaxError"),
        (None, "there is no file"),
    ],
)
def test_a_file_without_usable_tools_is_explained(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "broken_tools.py"
    if text is not None:
        path.write_text(text)
    done = run("Hi.", "--tools", str(path))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert message in done.stderr


def test_a_server_that_is_named_and_not_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
    done = run("Hi.", "--base-url", url)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert f"Could not connect to {url}" in done.stderr


def test_a_wrong_key_is_said() -> None:
    with ScriptedServer(key="right") as backend:
        done = run("Hi.", "--base-url", backend.url)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "No API key was sent" in done.stderr


@pytest.mark.timeout(300)
def test_without_a_server_the_embedded_model_answers(tmp_path: Path) -> None:
    ensure(DEFAULT_WEIGHTS, cache_folder(os.environ))
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if taken.connect_ex(("127.0.0.1", 8181)) == 0:
            pytest.fail("something listens on port 8181 of this machine")
    cache = Path(cache_folder(os.environ))
    tools = tmp_path / "weather_tools.py"
    tools.write_text(ONE_TOOL)
    flags = ("--tools", str(tools), "--temperature", "0")
    with toolwire("chat", *flags, cache=cache) as terminal:
        assert "SmolLM2-135M-Instruct at http://127.0.0.1:" in terminal.read_turn()
        terminal.type("What is the weather in Paris?")
        assert 'get_weather(city="Paris"' in terminal.read_to("dit: ")
        terminal.type("y")
        assert "✓ get_weather" in terminal.read_turn()
        child = _children(terminal.pid)
        assert len(child) == 1
        os.kill(terminal.pid, signal.SIGKILL)
        _wait_gone(child[0])


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found]


def _wait_gone(pid: int) -> None:
    """The model's process ends with the chat, however the chat ended."""
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and "Z" not in _state(pid):
        assert time.monotonic() < deadline, "the model outlives its chat"
        time.sleep(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except FileNotFoundError:
        return "Z"
