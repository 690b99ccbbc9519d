"""Chooses which real clients run: TOOLWIRE_CLIENTS is a list of their names and groups.

Unless it is set, or says `quick`, the clients that need no installing do the task once: the
faults that a backend may have are tried without clients too (see `gateway/test_variants.py`).
"""

import os

import pytest
from tests.e2e.clients.registry import select


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of clients that were not chosen."""
    wanted = os.environ.get("TOOLWIRE_CLIENTS", "quick")
    chosen = {client.name for client in select(wanted)}
    dropped = [item for item in items if _is_left_out(item, chosen, quick=wanted == "quick")]
    config.hook.pytest_deselected(items=dropped)
    left_out = set(dropped)
    items[:] = [item for item in items if item not in left_out]


def _is_left_out(item: pytest.Item, chosen: set[str], *, quick: bool) -> bool:
    clients = {name for mark in item.iter_markers("client") for name in mark.args}
    is_slow = item.get_closest_marker("slow") is not None
    return bool(clients) and (bool(clients - chosen) or (quick and is_slow))
