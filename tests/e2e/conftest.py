"""Chooses which real clients run: TOOLWIRE_CLIENTS is a list of their names and groups.

Unless it is set, or says `quick`, the clients that need no installing do the task once: the
faults that a backend may have are tried without clients too (see `gateway/test_variants.py`).
"""

import os

import pytest
from tests.e2e.clients.record import Record, tell
from tests.e2e.clients.registry import GROUPS, select


def pytest_configure(config: pytest.Config) -> None:
    """Write down what came of the clients, if a file for it is named."""
    if path := os.environ.get("TOOLWIRE_CLIENTS_RECORD"):
        some = bool(config.option.keyword or config.option.lf)
        config.pluginmanager.register(Record(path, some=some))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of clients that were not chosen."""
    wanted = os.environ.get("TOOLWIRE_CLIENTS", "quick")
    chosen = {client.name for client in select(wanted)}
    dropped = [item for item in items if _is_left_out(item, chosen, wanted)]
    config.hook.pytest_deselected(items=dropped)
    left_out = set(dropped)
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        tell(item)


def _is_left_out(item: pytest.Item, chosen: set[str], wanted: str) -> bool:
    marks = list(item.iter_markers("client"))
    clients = {name for mark in marks for name in mark.args}
    is_slow = item.get_closest_marker("slow") is not None
    is_rare = any(mark.kwargs.get("rare") for mark in marks)
    if (wanted == "quick" and is_slow) or (wanted != "all" and wanted in GROUPS and is_rare):
        return bool(clients)
    return bool(clients - chosen)
