"""Every test here runs on every store."""

from pathlib import Path

import pytest
from tests.contract.sessions import stores


@pytest.fixture(params=["memory", "sqlite", "guarded"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> stores.Bench:
    """A kind of store."""
    if request.param == "memory":
        return stores.memory()
    return stores.sqlite(tmp_path) if request.param == "sqlite" else stores.guarded(tmp_path)
