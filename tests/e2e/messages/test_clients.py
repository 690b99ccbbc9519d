"""Real clients of the Messages API with models that have no tools, and with one that thinks.

That they do the task with a model that has tools, well behaved or not, is in `../test_clients.py`.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.clients.client import Client
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.run import run_client
from tests.e2e.gateway.process import running
from tests.scripted import ScriptedServer

pytestmark = pytest.mark.timeout(600)  # with time to install a client

SPEAKERS = ("anthropic-python", "anthropic-node", "ai-sdk-anthropic", "cline-3-anthropic")
TEXT_FORMATS = ("hermes", "qwen3_coder")


def _case(name: str, *more: str) -> Any:
    mark = pytest.mark.client(name)
    return pytest.param(CLIENTS[name], *more, id="-".join([name, *more]), marks=mark)


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
    for name, dialect in (("tool-less", "generic"), ("thinker", "vllm")):
        about = f'backend = {{ url = "{backend.url}", dialect = "{dialect}" }}'
        routes.append(f'[[models]]\nname = "{name}"\n{about}\n')
    with running(config="".join(routes)) as process:
        yield process.url
        assert "Traceback" not in process.log, process.log


def work(client: Client, url: str, model: str, checks: tuple[str, ...] = ()) -> None:
    """Run a client, and show what it said if it failed."""
    install(client)
    run = run_client(client, url, model=model, checks=checks)
    assert run.failure is None, f"{run}\n{run.outcome.tail}"


def chats(backend: ScriptedServer) -> list[dict[str, Any]]:
    """What the backend was asked."""
    return [asked.json for asked in backend.requests if asked.path.endswith("/chat/completions")]


@pytest.mark.parametrize(
    ("client", "name"), [_case(client, name) for client in SPEAKERS for name in TEXT_FORMATS]
)
def test_a_client_does_the_task_with_a_model_that_writes_calls_as_text(
    client: Client, name: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use("std", f"raw:{name}")
    work(client, gateway, name, _usual(client))
    assert not any("tools" in chat for chat in chats(backend))


@pytest.mark.parametrize("client", [_case(client) for client in SPEAKERS])
def test_a_client_does_the_task_with_a_server_that_refuses_tools(
    client: Client, backend: ScriptedServer, gateway: str
) -> None:
    backend.use("refuses_tools", "raw:hermes")
    work(client, gateway, "tool-less", _usual(client))


@pytest.mark.parametrize(
    ("client", "check"),
    [
        _case("anthropic-python", "create_with_thinking"),
        _case("ai-sdk-anthropic", "generate_with_thinking"),
        _case("ai-sdk-anthropic", "stream_with_thinking"),
    ],
)
def test_what_a_model_thought_goes_back_to_it_with_the_results(
    client: Client, check: str, backend: ScriptedServer, gateway: str
) -> None:
    backend.use("reasoning")
    work(client, gateway, "thinker", (check,))
    *_, last = chats(backend)
    answers = [message for message in last["messages"] if message["role"] == "assistant"]
    assert len(answers) == 3
    assert all(answer["reasoning_content"] for answer in answers)


def _usual(client: Client) -> tuple[str, ...]:
    """The checks of a script that do the task: a scripted text model has no other answers."""
    tasks = {
        "anthropic-python": ("create", "stream_helper", "tool_runner"),
        "anthropic-node": ("create", "stream_helper", "tool_runner"),
        "ai-sdk-anthropic": ("generate", "stream"),
    }
    return tasks.get(client.name, ())
