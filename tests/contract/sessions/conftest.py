"""Every test here runs on every store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.sessions import stores
from tests.redis_server import RedisServer, redis_cluster, redis_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One Redis for all tests."""
    with redis_server(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RedisServer]]:
    """One Redis cluster for all tests."""
    with redis_cluster(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


_STARTED = [pytest.param(name, marks=pytest.mark.process) for name in ("redis", "cluster")]


@pytest.fixture(params=["memory", "sqlite", "guarded", *_STARTED])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> stores.Bench:
    """A kind of store, empty."""
    if request.param == "memory":
        return stores.memory()
    if request.param == "redis":
        return stores.redis([request.getfixturevalue("server")])
    if request.param == "cluster":
        return stores.redis(request.getfixturevalue("cluster"))
    return stores.sqlite(tmp_path) if request.param == "sqlite" else stores.guarded(tmp_path)
