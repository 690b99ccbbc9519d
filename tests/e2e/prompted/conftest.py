"""A scripted model and a Toolwire in front of it. A module's `PLACES` are its routes."""

from collections.abc import Iterator

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.prompted.routes import EVERY_FORMAT, NATIVE, config
from tests.scripted import ScriptedServer


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(request: pytest.FixtureRequest, backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire process, which at the end must have had no defect to report."""
    places = getattr(request.module, "PLACES", (*EVERY_FORMAT, NATIVE))
    with running(config=config(backend.url, places)) as process:
        yield process
        assert process.process.poll() is None, process.log
        assert "Traceback" not in process.log, process.log
