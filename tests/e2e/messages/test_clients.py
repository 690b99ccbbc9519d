"""What real clients of the Messages API do with a model that thinks.

That they do the task on every kind of server is in `../test_clients.py`.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.clients.client import Client
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.scene import chats, work
from tests.e2e.gateway.process import running
from tests.scripted import ScriptedServer

pytestmark = pytest.mark.timeout(600)  # with time to install a client


def _case(name: str, check: str) -> Any:
    mark = pytest.mark.client(name)
    return pytest.param(CLIENTS[name], check, id=f"{name}-{check}", marks=mark)


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[str]:
    """The base URL of a Toolwire in front of a server whose models may think."""
    with running("--upstream", backend.url, "--upstream-dialect", "vllm") as process:
        yield process.url
        assert "Traceback" not in process.log, process.log


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
    work(client, gateway, checks=(check,))
    *_, last = chats(backend)
    answers = [message for message in last["messages"] if message["role"] == "assistant"]
    assert len(answers) == 3
    assert all(answer["reasoning_content"] for answer in answers)
