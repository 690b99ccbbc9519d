"""Chooses which real clients run: TOOLWIRE_CLIENTS is a list of names and groups (`quick`)."""

import os

import pytest
from tests.e2e.clients.registry import select


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of clients that were not chosen."""
    chosen = {client.name for client in select(os.environ.get("TOOLWIRE_CLIENTS", "quick"))}
    config.hook.pytest_deselected(items=[item for item in items if _clients_of(item) - chosen])
    items[:] = [item for item in items if not _clients_of(item) - chosen]


def _clients_of(item: pytest.Item) -> set[str]:
    return {name for mark in item.iter_markers("client") for name in mark.args}
