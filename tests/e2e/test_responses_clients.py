"""Real clients of the Responses API: with models that have no tools, and what only they can show.

That they do the task with a model that has tools, well behaved or not, is in `test_clients.py`.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.clients.client import Client
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.run import Run, run_client
from tests.e2e.gateway.process import running
from tests.scripted import ScriptedServer

pytestmark = pytest.mark.timeout(600)  # with time to install a client

SPEAKERS = (
    "openai-python-responses", "codex", "codex-patch", "openai-node-responses",
    "ai-sdk-responses", "openai-agents", "cline-3-native",
)  # fmt: skip
TEXT_FORMATS = ("hermes", "qwen3_coder")
WRITE = "printf 'print(\"hello\")\\n' > hello.py"
ON_CODEX = pytest.mark.client("codex")


def _case(name: str, how: str) -> Any:
    return pytest.param(CLIENTS[name], how, id=f"{name}-{how}", marks=pytest.mark.client(name))


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[str]:
    """The base URL of a Toolwire with a route for every kind of model."""
    routes = [
        f'[[models]]\nname = "{name}"\nmode = "prompted"\nformat = "{name}"\n'
        f'backend = {{ url = "{backend.url}", dialect = "generic" }}\n'
        for name in TEXT_FORMATS
    ]
    thinks = f'[[models]]\nname = "*"\nbackend = {{ url = "{backend.url}", dialect = "vllm" }}\n'
    config = "\n".join([*routes, thinks, "[timeouts]\nkeepalive = 1\n"])
    with running(config=config) as process:
        yield process.url
        assert "Traceback" not in process.log, process.log


def work(client: Client, url: str, **more: Any) -> Run:
    """Run a client, and show what it said if it failed."""
    install(client)
    run = run_client(client, url, **more)
    assert run.failure is None, f"{run}\n{run.outcome.tail}"
    return run


def chats(backend: ScriptedServer) -> list[dict[str, Any]]:
    """The requests that reached the backend."""
    return [asked.json for asked in backend.requests if asked.path.endswith("/chat/completions")]


@pytest.mark.parametrize(
    ("client", "name"), [_case(name, how) for name in SPEAKERS for how in TEXT_FORMATS]
)
def test_a_client_does_the_task_with_a_model_that_writes_its_calls_as_text(
    client: Client, name: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use("std", f"raw:{name}")
    work(client, gateway, model=name)
    assert not any("tools" in chat for chat in chats(backend))


@pytest.mark.parametrize(("client", "variant"), [_case(name, "refuses_tools") for name in SPEAKERS])
def test_a_client_does_the_task_on_a_server_that_refuses_tools(
    client: Client, variant: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use(variant, "raw:hermes")
    work(client, gateway, model="hermes")


@pytest.mark.client("codex-code")
def test_codex_runs_a_program_that_calls_its_other_tools(
    backend: ScriptedServer, gateway: str
) -> None:
    program = f"const r = await tools.exec_command({json.dumps({'cmd': WRITE})}); text(r.output);"
    backend.use("std", [{"calls": [["exec", {"input": program}]]}, "done"])
    work(CLIENTS["codex-code"], gateway)
    called, result = chats(backend)[-1]["messages"][-2:]
    assert called["tool_calls"][0]["function"]["name"] == "exec"
    assert "Script completed" in result["content"]


@pytest.mark.client("codex-mcp")
def test_codex_calls_the_tool_of_an_mcp_server(backend: ScriptedServer, gateway: str) -> None:
    weather = ["mcp__rec__get_weather", {"city": "Paris"}]
    backend.use("std", [{"calls": [weather]}, {"calls": [["exec_command", {"cmd": WRITE}]]}, "ok"])
    work(CLIENTS["codex-mcp"], gateway)
    results = [m["content"] for m in chats(backend)[-1]["messages"] if m["role"] == "tool"]
    assert "It rains in Paris." in results[0]


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


@ON_CODEX
def test_codex_understands_that_the_context_is_full(backend: ScriptedServer, gateway: str) -> None:
    backend.use("ctxlen")
    install(CLIENTS["codex"])
    run = run_client(CLIENTS["codex"], gateway)
    assert "ran out of room" in run.outcome.output
    assert len(chats(backend)) == 1
