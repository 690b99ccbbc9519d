"""A scripted backend, and gateways with two client keys in front of it, one for each store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.native.client import KEYS, STORES
from tests.scripted import ScriptedServer


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module", params=STORES)
def gateway(
    request: pytest.FixtureRequest,
    backend: ScriptedServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Gateway]:
    """A Toolwire process, which at the end must have had no defect to report."""
    folder: Path = tmp_path_factory.mktemp("store")
    store = STORES[request.param].format(folder=folder)
    with running("--upstream", backend.url, "--sessions", store, config=KEYS) as process:
        yield process
        assert process.process.poll() is None, process.log
        assert "Traceback" not in process.log, process.log
