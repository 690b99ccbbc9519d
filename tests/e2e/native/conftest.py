"""A scripted backend, and gateways with two client keys in front of it, one for each store."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.native.client import KEYS
from tests.redis_server import redis_server
from tests.scripted import ScriptedServer


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[str]:
    """The address of a store."""
    if kind == "redis":
        with redis_server(folder) as server:
            yield server.url
    else:
        yield "memory" if kind == "memory" else f"sqlite:{folder}/sessions.db"


@pytest.fixture(scope="module", params=["memory", "sqlite", "redis"])
def gateway(
    request: pytest.FixtureRequest,
    backend: ScriptedServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Gateway]:
    """A Toolwire process, which at the end must have had no defect to report."""
    folder: Path = tmp_path_factory.mktemp("store")
    with (
        opened(request.param, folder) as store,
        running("--upstream", backend.url, "--sessions", store, config=KEYS) as process,
    ):
        yield process
        assert process.process.poll() is None, process.log
        assert "Traceback" not in process.log, process.log
