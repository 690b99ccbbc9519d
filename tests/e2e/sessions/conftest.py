"""The stores that these tests run on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.redis_server import redis_server


@pytest.fixture(params=["sqlite", "redis"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store that processes can share."""
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'sessions.db'}"
        return
    with redis_server(tmp_path) as server:
        yield server.url
