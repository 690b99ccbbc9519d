"""What the tests of real clients do: have one work, and look at what reached the backend."""

from typing import Any

from tests.e2e.clients.client import Client
from tests.e2e.clients.install import install
from tests.e2e.clients.run import Run, run_client
from tests.scripted import ScriptedServer


def work(client: Client, url: str, **more: Any) -> Run:
    """Have a client do the task, and show what it said if it failed."""
    install(client)
    run = run_client(client, url, **more)
    assert run.failure is None, f"{run}\n{run.outcome.tail}"
    return run


def chats(backend: ScriptedServer) -> list[dict[str, Any]]:
    """The chat requests that reached the backend."""
    return [asked.json for asked in backend.requests if asked.path.endswith("/chat/completions")]


def results(backend: ScriptedServer) -> list[str]:
    """The contents of the tool messages in the last request."""
    messages = chats(backend)[-1]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]
