"""Claude Code through Toolwire: what it really sends, and what a backend gets of it."""

import base64
import json
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pexpect
import pytest
from tests.e2e.clients.client import Stage
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.run import Run, run_client
from tests.e2e.clients.scene import chats
from tests.e2e.gateway.api_server import serving
from tests.e2e.gateway.messages_server import MessagesServer
from tests.e2e.gateway.process import Gateway, running
from tests.scripted import ScriptedServer
from tests.scripted.answer import Answer
from tests.scripted.file_task import file_task
from tests.scripted.request import ChatRequest

pytestmark = [pytest.mark.timeout(600), pytest.mark.client("claude-code")]

UNKNOWN, KNOWN = "my-model", "claude-sonnet-4-5"
IDS = pytest.mark.parametrize("model", [UNKNOWN, KNOWN])
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
FILES = {"a.txt": b"first\n", "b.txt": b"second\n", "p.png": PNG}


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire in front of the scripted model."""
    with running("--upstream", backend.url) as process:
        yield process
        assert "Traceback" not in process.log, process.log


def ask(gateway: Gateway, model: str = UNKNOWN, task: str = "") -> Run:
    """Give Claude Code something to do, and see it end well."""
    client = CLIENTS["claude-code"]
    install(client)
    run = run_client(client, gateway.url, model=model, task=task, files=FILES if task else None)
    assert run.outcome.exit_code == 0, run.outcome.tail
    assert '"subtype":"success"' in run.outcome.output
    return run


def assert_prefixes_hold(backend: ScriptedServer) -> None:
    """Each prompt begins with the one before it, byte for byte, and all have the same tools."""
    made = [json.dumps(chat["messages"])[:-1] for chat in chats(backend)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(made))
    assert len({json.dumps(chat.get("tools")) for chat in chats(backend)}) == 1


@IDS
def test_it_does_the_task_and_every_prompt_begins_with_the_one_before(
    model: str, backend: ScriptedServer, gateway: Gateway
) -> None:
    backend.use()
    assert ask(gateway, model).failure is None
    assert len(chats(backend)) == 4
    assert_prefixes_hold(backend)
    for chat in chats(backend):
        roles = [message["role"] for message in chat["messages"]]
        assert roles.count("system") == 1, "templates allow one, at the beginning"
        assert roles[0] == "system"
        assert "x-anthropic-billing-header" not in json.dumps(chat)


@IDS
def test_parallel_results_a_failure_and_an_image_come_in_the_order_of_the_calls(
    model: str, backend: ScriptedServer, gateway: Gateway
) -> None:
    names = ("a.txt", "missing.txt", "p.png", "b.txt")
    calls = [["Read", {"file_path": name}] for name in names]
    backend.use("std", [{"calls": calls}, "done"])
    ask(gateway, model, "Read them.")
    *_, last = chats(backend)
    first, missing, image, second = [m for m in last["messages"] if m["role"] == "tool"]
    assert "first" in first["content"]
    assert missing["content"].startswith("Error: ")
    assert image["content"].endswith("(an image, shown below)")
    assert "second" in second["content"]
    (shown,) = [m for m in last["messages"] if "image_url" in json.dumps(m["content"])]
    assert last["messages"].index(shown) > last["messages"].index(second)


@IDS
def test_a_deferred_tool_is_offered_after_it_was_searched_for(
    model: str, backend: ScriptedServer, gateway: Gateway
) -> None:
    search = {"calls": [["ToolSearch", {"query": "select:WebFetch", "max_results": 5}]]}
    backend.use("std", [search, "done"])
    ask(gateway, model, "Look for it.")
    before, after = ([t["function"]["name"] for t in c["tools"]] for c in chats(backend))
    assert after == [*before, "WebFetch"]
    assert "DeferredToolPlaceholder" not in after
    assert "Now available: WebFetch." in json.dumps(chats(backend)[-1]["messages"])


@IDS
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["NoSuchTool", {"x": 1}], "NoSuchTool"),
        (["Read", {"path": "a.txt"}], "file_path"),
    ],
)
def test_it_goes_on_after_a_wrong_call(
    call: list[Any], said: str, model: str, backend: ScriptedServer, gateway: Gateway
) -> None:
    """Toolwire tells the model what is wrong, before Claude Code would."""
    backend.use("std", [{"calls": [call]}, "done"])
    ask(gateway, model, "Read it.")
    (result,) = [m for m in chats(backend)[-1]["messages"] if m["role"] == "tool"]
    assert said in result["content"]


def summarize(request: ChatRequest) -> Answer:
    """The file task, by a model that summarizes only if it cannot call anything."""
    if request.tool_choice == "none":
        return Answer(text="<analysis>Well.</analysis><summary>hello.py is there.</summary>")
    return file_task(request)


@IDS
def test_a_full_context_leads_to_a_summary_and_the_task_goes_on(
    model: str, backend: ScriptedServer, gateway: Gateway
) -> None:
    backend.use("ctxlen:=3", summarize)
    assert ask(gateway, model).failure is None
    summaries = [chat for chat in chats(backend) if chat.get("tool_choice") == "none"]
    assert len(summaries) == 1
    assert "hello.py is there." in json.dumps(chats(backend)[-1]["messages"])


def test_it_is_asked_for_no_more_tokens_than_there_are(
    backend: ScriptedServer, gateway: Gateway
) -> None:
    backend.use("small_window:20000")
    assert ask(gateway).failure is None
    first, *others = [chat["max_tokens"] for chat in chats(backend)]
    assert first == 32000
    assert len(others) == 4, "only the first request is refused"
    assert all(asked < 20000 for asked in others)


class Terminal:
    """Claude Code in a terminal of its own."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        client = CLIENTS["claude-code"]
        install(client)
        home, work = folder / "home", folder / "work"
        work.mkdir()
        home.mkdir()
        stage = Stage(gateway.url, "any", UNKNOWN, home, work, client.root, client.python)
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(work): project}}
        stage.write(".claude.json", json.dumps(known))
        command = client.recipe(stage)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "TERM": "xterm-256color"}
        # With it, there would be no request for a title.
        own = {name: value for name, value in command.env.items() if "NONESSENTIAL" not in name}
        self._screen = ""
        self._process = pexpect.spawn(
            command.argv[0],
            cwd=str(work),
            env={**env, "LANG": "C.UTF-8", "DISABLE_TELEMETRY": "1", **own},  # type: ignore[arg-type]
            dimensions=(50, 160),
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill(signal.SIGKILL)
        self._process.wait()  # `close` would give it a tenth of a second
        self._process.close()

    def wait_for(self, words: str) -> None:
        """Wait until these words are on the screen. Where there are blanks, the cursor may have
        been moved instead, so they do not count."""
        deadline = time.monotonic() + 60
        while words.replace(" ", "") not in self._screen:
            assert time.monotonic() < deadline, self._screen[-3000:]
            with suppress(pexpect.TIMEOUT):
                said = self._process.read_nonblocking(65536, timeout=0.2)
                self._screen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\s", "", said)

    def say(self, text: str, until: str) -> None:
        """Type something, and wait for these words. A moment before the key that sends it, or it
        is taken for a line of pasted text."""
        self._screen = ""
        self._process.send(text)
        self.wait_for(text)
        time.sleep(0.5)
        self._screen = ""
        self._process.send("\r")
        self.wait_for(until)


def converse(request: ChatRequest) -> Answer:
    """A model that talks, gives a title, and summarizes only if it cannot call anything."""
    if request.body.get("response_format"):
        return Answer(text='{"title": "A friendly word"}')
    if request.tool_choice == "none":
        return Answer(text="<analysis>Well.</analysis><summary>We said hello.</summary>")
    return Answer(text="Hello from the model.")


def test_the_terminal_has_a_title_shows_its_context_and_compacts_it(
    backend: ScriptedServer, gateway: Gateway, tmp_path: Path
) -> None:
    backend.use("std", converse)
    with Terminal(gateway, tmp_path) as terminal:
        terminal.wait_for("for agents")
        terminal.say("Say hello.", "Hello from the model.")
        terminal.wait_for("A friendly word")
        before = gateway.log.count("/v1/messages/count_tokens")
        terminal.say("/context", "Autocompact buffer")
        counted = gateway.log.count("/v1/messages/count_tokens") - before
        terminal.say("/compact", "Compacted")
        terminal.say("And now?", "Hello from the model.")
    assert counted > 10
    assert "We said hello." in json.dumps(chats(backend)[-1]["messages"])


def test_a_server_with_the_same_api_gets_all_that_it_sends() -> None:
    config = """
[[models]]
name = "my-model"
backend = {{ url = "{}", dialect = "anthropic", model = "claude-x" }}
"""
    with serving(MessagesServer) as claude, running(config=config.format(claude.url)) as gateway:
        ask(gateway, UNKNOWN, "Read it.")
    body, head = claude.bodies[0], claude.heads[0]
    assert body["model"] == "claude-x"
    assert "cache_control" in json.dumps(body["system"])
    assert "cache_control" in json.dumps(body["messages"])
    assert "system" in [message["role"] for message in body["messages"]]
    assert any(tool.get("defer_loading") for tool in body["tools"])
    assert {"thinking", "context_management", "metadata", "output_config"} <= body.keys()
    assert "," in head["anthropic-beta"]
