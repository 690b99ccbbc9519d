"""A scripted backend and a Toolwire in front of it, one of each per module.

A module's `CONFIG`, if it has one, is the text of that Toolwire's toolwire.toml.
"""

from collections.abc import Iterator

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.scripted import ScriptedServer


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(request: pytest.FixtureRequest, backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire process, which at the end must have had no defect to report."""
    config = getattr(request.module, "CONFIG", "")
    with running("--upstream", backend.url, config=config) as process:
        yield process
        assert process.process.poll() is None, process.log
        assert "Traceback" not in process.log, process.log
