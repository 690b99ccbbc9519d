"""What only real clients of the Responses API can show.

That they do the task on every kind of server is in `test_clients.py`.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.e2e.clients import recipes
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.run import run_client
from tests.e2e.clients.scene import chats, results, work
from tests.e2e.gateway.process import running
from tests.scripted import ScriptedServer

pytestmark = pytest.mark.timeout(600)  # with time to install a client

WRITE = "printf 'print(\"hello\")\\n' > hello.py"
ON_CODEX = pytest.mark.client("codex")


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[str]:
    """The base URL of a Toolwire whose model may think, and which says every second that it is
    there."""
    route = f'[[models]]\nname = "*"\nbackend = {{ url = "{backend.url}", dialect = "vllm" }}\n'
    with running(config=f"{route}[timeouts]\nkeepalive = 1\n") as process:
        yield process.url
        assert "Traceback" not in process.log, process.log


@pytest.mark.client("codex-code", setup="native")
def test_codex_runs_a_program_that_calls_its_other_tools(
    backend: ScriptedServer, gateway: str
) -> None:
    client = CLIENTS["codex-code"]
    backend.use("std", client.script)
    work(client, gateway)
    called, result = chats(backend)[-1]["messages"][-2:]
    assert called["tool_calls"][0]["function"]["name"] == "exec"
    assert "Script completed" in result["content"]


@pytest.mark.client("codex-mcp", setup="native")
def test_codex_calls_the_tool_of_an_mcp_server(backend: ScriptedServer, gateway: str) -> None:
    client = CLIENTS["codex-mcp"]
    backend.use("std", client.script)
    work(client, gateway)
    assert "It rains in Paris." in results(backend)[0]


@ON_CODEX
@pytest.mark.parametrize("silence", ["silence_headers", "silence_mid"])
def test_codex_waits_for_a_silent_model_longer_than_it_waits_for_an_event(
    silence: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use(f"{silence}:5", [{"calls": [["exec_command", {"cmd": WRITE}]]}, "done"])
    work(replace(CLIENTS["codex"], recipe=recipes.codex_hasty), gateway)
    assert len(chats(backend)) == 2, "it never asked again"


@ON_CODEX
def test_a_model_gets_its_reasoning_back_from_codex(backend: ScriptedServer, gateway: str) -> None:
    act = {"reasoning": "I must write it.", "calls": [["exec_command", {"cmd": WRITE}]]}
    backend.use("std", [act, "done"])
    work(CLIENTS["codex"], gateway)
    (said,) = [m for m in chats(backend)[-1]["messages"] if m["role"] == "assistant"]
    assert said["reasoning_content"] == "I must write it."


@pytest.mark.client("ai-sdk-responses")
@pytest.mark.parametrize("check", ["generate", "stream"])
def test_text_that_the_ai_sdk_only_refers_to_reaches_the_model(
    check: str, backend: ScriptedServer, gateway: str
) -> None:
    steps = [
        ["write_file", {"path": "hello.py", "content": 'print("hello")\n'}],
        ["read_file", {"path": "hello.py"}],
        ["run_command", {"command": "python3 hello.py"}],
    ]
    turns = [
        {"reasoning": f"hm {n}", "text": f"step {n}", "calls": [s]} for n, s in enumerate(steps)
    ]
    backend.use("std", [*turns, "done"])
    work(CLIENTS["ai-sdk-responses"], gateway, checks=[check])
    said = [m for m in chats(backend)[-1]["messages"] if m["role"] == "assistant"]
    assert [m["content"] for m in said] == ["step 0", "step 1", "step 2"]
    assert [m["reasoning_content"] for m in said] == ["hm 0", "hm 1", "hm 2"]


@ON_CODEX
def test_codex_says_why_a_backend_died_in_a_call(backend: ScriptedServer, gateway: str) -> None:
    turns = [{"calls": [["exec_command", {"cmd": WRITE}]]}, "done"]
    backend.use("cut_in_call:always+slow:20", turns)
    install(CLIENTS["codex"])
    run = run_client(CLIENTS["codex"], gateway)
    assert run.failure == "exit code 1"
    assert not run.written
    assert "closed the connection" in run.outcome.output


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, marks=pytest.mark.client(name), id=f"{name}-{check}")
        for name, check in (
            ("ai-sdk-responses", "stream"),
            ("openai-node-responses", "helper"),
        )
    ],
)
def test_libraries_say_why_a_backend_died_in_a_call(
    name: str, check: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use("cut_in_call:always+slow:20")
    install(CLIENTS[name])
    run = run_client(CLIENTS[name], gateway, checks=[check])
    assert run.failure is not None
    assert not run.written
    assert "closed the connection" in run.outcome.output


@ON_CODEX
def test_codex_understands_that_the_context_is_full(backend: ScriptedServer, gateway: str) -> None:
    backend.use("ctxlen")
    install(CLIENTS["codex"])
    run = run_client(CLIENTS["codex"], gateway)
    assert "ran out of room" in run.outcome.output
    assert len(chats(backend)) == 1
