"""Every test here runs on every store."""

import pytest
from tests.contract.sessions import stores


@pytest.fixture(params=["memory"])
def bench(request: pytest.FixtureRequest) -> stores.Bench:
    """A kind of store."""
    return stores.memory()
