"""Real clients do the file task through Toolwire: write hello.py, read it, run it, finish.

Each client is run against a well-behaved backend, and against every one that breaks it directly.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.clients.breaks import BREAKS
from tests.e2e.clients.client import Client
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.run import run_client
from tests.e2e.gateway.process import running
from tests.scripted import ScriptedServer

# Above a client's own limit, which is what should end it, and with time to install it.
pytestmark = pytest.mark.timeout(600)


def _case(client: Client, variant: str) -> Any:
    mark = pytest.mark.client(client.name)
    return pytest.param(client, variant, id=f"{client.name}-{variant}", marks=mark)


OWN_TEST = ("cline-2", "cline-2-xml", "codex-code", "codex-mcp")
WELL_BEHAVED = [_case(client, "std") for name, client in CLIENTS.items() if name not in OWN_TEST]
BROKEN = [
    _case(CLIENTS[name], variant) for name, variants in BREAKS.items() for variant in variants
]


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[str]:
    """The base URL of a Toolwire in front of the scripted model."""
    with running("--upstream", backend.url) as process:
        yield process.url
        assert "Traceback" not in process.log, process.log


def work(client: Client, url: str) -> None:
    """Have a client do the task, and show what it said if it failed."""
    install(client)
    run = run_client(client, url)
    assert run.failure is None, f"{run}\n{run.outcome.tail}"


def chats(backend: ScriptedServer) -> list[dict[str, Any]]:
    """The chat requests that reached the backend."""
    return [asked.json for asked in backend.requests if asked.path.endswith("/chat/completions")]


def turns(backend: ScriptedServer) -> int:
    """How many requests offered tools: what is beyond is a session title or the like."""
    return sum(bool(chat.get("tools")) for chat in chats(backend))


def results(backend: ScriptedServer) -> list[str]:
    """The contents of the tool messages in the last request."""
    messages = chats(backend)[-1]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


@pytest.mark.parametrize(("client", "variant"), WELL_BEHAVED)
def test_a_client_does_the_task(
    client: Client, variant: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use(variant)
    work(client, gateway)
    assert client.turns in (None, turns(backend))


@pytest.mark.slow
@pytest.mark.parametrize(("client", "variant"), BROKEN)
def test_a_client_does_the_task_although_the_backend_misbehaves(
    client: Client, variant: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use(variant)
    work(client, gateway)


@pytest.mark.client("openai-python")
def test_the_harness_notices_a_client_that_fails(backend: ScriptedServer) -> None:
    """Without Toolwire between, the same run fails: what passes above is Toolwire's doing."""
    backend.use("noindex")
    run = run_client(CLIENTS["openai-python"], backend.url)
    assert run.failure == "exit code 1"
    assert "FAIL stream_helper" in run.outcome.output


@pytest.mark.client("openai-python")
def test_twenty_calls_in_one_conversation_keep_their_results(
    backend: ScriptedServer, gateway: str
) -> None:
    backend.use("std", "many:20")
    run = run_client(CLIENTS["openai-python"], gateway, checks=["many"])
    assert run.outcome.exit_code == 0, run.outcome.tail
    assert results(backend) == [f"n={number}" for number in range(20)]


@pytest.mark.client("cline-3")
def test_cline_3_keeps_twenty_calls_and_their_results_apart(
    backend: ScriptedServer, gateway: str
) -> None:
    calls = [{"calls": [["run_commands", {"commands": [f"echo n={n}"]}]]} for n in range(20)]
    backend.use("std", [*calls, "done"])
    install(CLIENTS["cline-3"])
    run = run_client(CLIENTS["cline-3"], gateway)
    assert run.outcome.exit_code == 0, run.outcome.tail
    assert [json.loads(result)[0]["result"] for result in results(backend)] == [
        f"n={n}\n" for n in range(20)
    ]


@pytest.mark.client("cline-2")
def test_cline_2_sends_the_real_results_in_its_tool_messages(
    backend: ScriptedServer, gateway: str
) -> None:
    """It writes `result missing` unless every call delta carries `call_id`."""
    backend.use()
    work(CLIENTS["cline-2"], gateway)
    assert turns(backend) == CLIENTS["cline-2"].turns
    assert "result missing" not in results(backend)
    assert any('print("hello")' in result for result in results(backend))


@pytest.mark.client("cline-2-xml")
def test_cline_2_in_its_text_dialect_is_left_alone(backend: ScriptedServer, gateway: str) -> None:
    """A model id it does not know: no tools, calls as XML in the text, which is not ours."""
    backend.use()
    work(CLIENTS["cline-2-xml"], gateway)
    assert not any("tools" in chat for chat in chats(backend))
    said = [
        turn["content"] for turn in chats(backend)[-1]["messages"] if turn["role"] == "assistant"
    ]
    assert "<write_to_file>" in str(said)
