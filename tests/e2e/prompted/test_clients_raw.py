"""Real clients do the file task with a model that has no tools and writes its calls as text.

openai-python and Cline 3 run wherever they are chosen (TOOLWIRE_CLIENTS, as for tests/e2e/clients);
the whole matrix runs when all clients are.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.clients.client import Client
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.run import Run, run_client
from tests.e2e.gateway.process import running
from tests.scripted import ScriptedServer
from tests.scripted.raw_formats import RAW_FORMATS

pytestmark = pytest.mark.timeout(600)  # with time to install a client

AGENTS = ("openai-python", "cline-3", "cline-2", "goose", "pi")
USUAL = {("openai-python", name) for name in RAW_FORMATS} | {("cline-3", "hermes")}


def model(name: str) -> str:
    """What the model of a format is called: Cline 2 offers tools only to models it knows."""
    return f"gpt-oss-{name}"


def _case(agent: str, name: str) -> Any:
    needed = (agent,) if (agent, name) in USUAL else tuple(CLIENTS)
    return pytest.param(
        CLIENTS[agent], name, id=f"{agent}-{name}", marks=pytest.mark.client(*needed)
    )


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[str]:
    """The base URL of a Toolwire that writes tools into the prompt."""
    routes = "\n".join(
        f'[[models]]\nname = "{model(name)}"\nmode = "prompted"\nformat = "{name}"\n'
        f'backend = {{ url = "{backend.url}", dialect = "generic" }}\n'
        for name in RAW_FORMATS
    )
    with running(config=routes) as process:
        yield process.url
        assert "Traceback" not in process.log, process.log


def work(client: Client, url: str, name: str) -> Run:
    """Run a client, and show what it said if it failed."""
    install(client)
    run = run_client(client, url, model=model(name))
    assert run.failure is None, f"{run}\n{run.outcome.tail}"
    return run


@pytest.mark.parametrize(
    ("client", "name"), [_case(agent, name) for agent in AGENTS for name in RAW_FORMATS]
)
def test_a_client_does_the_task_with_a_model_that_has_no_tools(
    client: Client, name: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use("std", f"raw:{name}")
    work(client, gateway, name)
    chats = [asked.json for asked in backend.requests if asked.path.endswith("/chat/completions")]
    assert not any("tools" in chat for chat in chats)
    prompted = [chat for chat in chats if '"parameters"' in str(chat["messages"][0]["content"])]
    assert client.turns in (None, len(prompted))


@pytest.mark.client("openai-python")
def test_without_toolwire_between_the_same_run_does_nothing(backend: ScriptedServer) -> None:
    backend.use("std", "raw:hermes")
    assert run_client(CLIENTS["openai-python"], backend.url, checks=["create"]).failure
