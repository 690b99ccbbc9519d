"""Real clients do the file task with a model that has no tools and writes its calls as text.

With the formats in which every client is run, see `../test_clients.py`. openai-python runs with the
tests of each change, the others when they are chosen by name, or when all are (TOOLWIRE_CLIENTS).
"""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.clients.client import Client
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.run import run_client
from tests.e2e.clients.scene import chats, work
from tests.e2e.clients.setups import SETUPS
from tests.e2e.gateway.process import running
from tests.scripted import ScriptedServer
from tests.scripted.raw_formats import RAW_FORMATS

pytestmark = pytest.mark.timeout(600)  # with time to install a client

AGENTS = ("openai-python", "cline-3", "cline-2", "goose", "pi")
FORMATS = [name for name in RAW_FORMATS if name not in SETUPS]


def model(name: str) -> str:
    """What the model of a format is called: Cline 2 offers tools only to models it knows."""
    return f"gpt-oss-{name}"


def _case(agent: str, name: str) -> Any:
    mark = pytest.mark.client(agent, setup="formats", rare=agent != "openai-python")
    return pytest.param(CLIENTS[agent], name, id=f"{agent}-{name}", marks=mark)


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
        for name in FORMATS
    )
    with running(config=routes) as process:
        yield process.url
        assert "Traceback" not in process.log, process.log


@pytest.mark.parametrize(
    ("client", "name"), [_case(agent, name) for agent in AGENTS for name in FORMATS]
)
def test_a_client_does_the_task_with_a_model_that_has_no_tools(
    client: Client, name: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use("std", f"raw:{name}")
    work(client, gateway, model=model(name))
    assert not any("tools" in chat for chat in chats(backend))
    prompted = [c for c in chats(backend) if '"parameters"' in str(c["messages"][0]["content"])]
    assert client.turns in (None, len(prompted))


@pytest.mark.client("openai-python")
def test_without_toolwire_between_the_same_run_does_nothing(backend: ScriptedServer) -> None:
    backend.use("std", "raw:hermes")
    assert run_client(CLIENTS["openai-python"], backend.url, checks=["create"]).failure
