"""Chooses which real clients run: TOOLWIRE_CLIENTS is a list of names and groups (`quick`)."""

import os
from collections.abc import Iterator

import pytest
from tests.e2e.clients.registry import select
from tests.e2e.serving import serving
from tests.scripted import ScriptedServer


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of clients that were not chosen."""
    chosen = {client.name for client in select(os.environ.get("TOOLWIRE_CLIENTS", "quick"))}
    config.hook.pytest_deselected(items=[item for item in items if _clients_of(item) - chosen])
    items[:] = [item for item in items if not _clients_of(item) - chosen]


def _clients_of(item: pytest.Item) -> set[str]:
    return {name for mark in item.iter_markers("client") for name in mark.args}


@pytest.fixture(scope="session")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="session")
def gateway(backend: ScriptedServer) -> Iterator[str]:
    """The base URL of a Toolwire in front of the scripted model."""
    with serving(backend.url) as url:
        yield url
