"""A scripted model, and clients of it."""

from collections.abc import Iterator

import pytest
from tests.scripted import ScriptedServer

from toolwire.client import Client

VARIABLES = ("TOOLWIRE_BASE_URL", "TOOLWIRE_API_KEY", "TOOLWIRE_MODEL", "OPENAI_BASE_URL",
             "OPENAI_API_KEY")  # fmt: skip


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's environment says must not matter."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def client(backend: ScriptedServer) -> Iterator[Client]:
    """A client of it."""
    with Client(backend.url, model="scripted", timeout=10) as client:
        yield client
