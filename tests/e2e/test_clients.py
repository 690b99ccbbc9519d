"""Real clients do the file task through Toolwire: write hello.py, read it, run it, finish.

Each client is run on every kind of server, and on every one that breaks it directly.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from tests.e2e.clients.breaks import BREAKS
from tests.e2e.clients.client import Client
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.run import run_client
from tests.e2e.clients.scene import chats, results, work
from tests.e2e.clients.setups import SETUPS, Setup
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import TOOLS
from tests.e2e.gateway.wire import ask, chat_body
from tests.scripted import ScriptedServer

from toolwire.gateway.strategies.selection import KEYLESS_PROSE

# Above a client's own limit, which is what should end it, and with time to install it.
pytestmark = pytest.mark.timeout(600)

OWN_TEST = ("cline-2", "cline-2-xml", "codex-code", "codex-mcp")
"""Clients of which more is asserted with a well-behaved server, below and in other files."""
ONLY_NATIVE = ("cline-2-xml", "cline-3-litellm", "cline-3-lmstudio")
"""Clients that offer no tools, or only ask for something else beside what another asks."""
ORDER = list(CLIENTS)


USUAL = {
    "openai-python": {*SETUPS, "broken"},
    "openai-python-responses": {"native", "refuses"},
    "anthropic-python": {"native", "refuses"},
    "cline-3": {"native", "hermes", "refuses", "broken"},
    "cline-2": {"native", "broken"},
    "cline-2-xml": {"native", "broken"},
}
"""What runs with the tests of each change."""


def _case(client: Client, how: Any, name: str, setup: str) -> Any:
    rare = setup not in USUAL.get(client.name, ())
    mark = pytest.mark.client(client.name, setup=setup, rare=rare)
    return pytest.param(client, how, id=f"{client.name}-{name}", marks=mark)


WORKING = [
    _case(client, setup, setup.name.replace(" ", "_"), setup.name)
    for client in CLIENTS.values()
    for setup in SETUPS.values()
    if client.name not in (OWN_TEST if setup.name == "native" else ONLY_NATIVE)
]
BROKEN = [
    _case(CLIENTS[name], variant, variant, "broken")
    for name, variants in BREAKS.items()
    for variant in variants
]


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway_for(backend: ScriptedServer) -> Iterator[Callable[[Setup], Gateway]]:
    """Starts a Toolwire for a set-up, once."""
    started: dict[str, Gateway] = {}
    with ExitStack() as stack:

        def start(setup: Setup) -> Gateway:
            if setup.name not in started:
                process = running(config=setup.config(backend.url))
                started[setup.name] = stack.enter_context(process)
            return started[setup.name]

        yield start
        for process in started.values():
            assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[str]:
    """The base URL of a Toolwire in front of the scripted model."""
    with running("--upstream", backend.url) as process:
        yield process.url
        assert "Traceback" not in process.log, process.log


def model_of(client: Client) -> str:
    """A model of the client's own, about which nothing was learned from others."""
    return client.model if client.model != "scripted" else f"scripted-{ORDER.index(client.name)}"


def demand_a_call(gateway: Gateway, model: str) -> None:
    """Demand a call of a model. Prose in its place says that its server has no tools."""
    ask(gateway.port, chat_body(model=model, tools=TOOLS, tool_choice="required"))


def with_tools(backend: ScriptedServer) -> int:
    """How many requests had tools."""
    return sum("tools" in chat for chat in chats(backend))


def turns(backend: ScriptedServer) -> int:
    """How many requests offered tools, as such or in their prompt: what is beyond is a session
    title or the like."""
    return sum(
        "tools" in chat or '"parameters"' in str(chat["messages"][0]["content"])
        for chat in chats(backend)
    )


@pytest.mark.parametrize(("client", "setup"), WORKING)
def test_a_client_does_the_task(
    client: Client,
    setup: Setup,
    backend: ScriptedServer,
    gateway_for: Callable[[Setup], Gateway],
) -> None:
    gateway, model = gateway_for(setup), model_of(client)
    if setup.demanded:
        backend.use(setup.variant, setup.script(replace(client, script="file_task")))
        for _ in range(KEYLESS_PROSE):
            demand_a_call(gateway, model)
    backend.use(setup.variant, setup.script(client))
    work(client, gateway.url, model=model)
    refused = turns(backend) and setup.refused
    assert client.turns in (None, turns(backend) - refused)
    assert setup.has_tools or with_tools(backend) == refused
    assert not turns(backend) or setup.learned in gateway.log


@pytest.mark.slow
@pytest.mark.parametrize(("client", "variant"), BROKEN)
def test_a_client_does_the_task_although_the_backend_misbehaves(
    client: Client, variant: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use(variant, client.script)
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


@pytest.mark.client("cline-2", setup="native")
def test_cline_2_sends_the_real_results_in_its_tool_messages(
    backend: ScriptedServer, gateway: str
) -> None:
    """It writes `result missing` unless every call delta carries `call_id`."""
    backend.use()
    work(CLIENTS["cline-2"], gateway)
    assert turns(backend) == CLIENTS["cline-2"].turns
    assert "result missing" not in results(backend)
    assert any('print("hello")' in result for result in results(backend))


@pytest.mark.client("cline-2-xml", setup="native")
def test_cline_2_in_its_text_dialect_is_left_alone(backend: ScriptedServer, gateway: str) -> None:
    """A model id it does not know: no tools, calls as XML in the text, which is not ours."""
    backend.use()
    work(CLIENTS["cline-2-xml"], gateway)
    assert not any("tools" in chat for chat in chats(backend))
    said = [
        turn["content"] for turn in chats(backend)[-1]["messages"] if turn["role"] == "assistant"
    ]
    assert "<write_to_file>" in str(said)
